#include "converters/dcp/torchtitan.h"

#include <algorithm>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/config.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::convert::dcp {

using ckpt::Result;
using ckpt::Settings;

namespace {

/// Settings that are compared when a run is resumed, besides the model and the LR schedule.
constexpr const char* kCompared[] = {"optimizer.beta1",
                                     "optimizer.beta2",
                                     "optimizer.eps",
                                     "optimizer.name",
                                     "optimizer.weight_decay",
                                     "training.dtype",
                                     "training.global_batch_size",
                                     "training.local_batch_size",
                                     "training.max_norm",
                                     "training.mixed_precision_param",
                                     "training.mixed_precision_reduce",
                                     "training.seq_len"};

// torchtitan has no such key, so there is a row only if the configuration sets it.
constexpr const char* kRules = "optimizer.rules";

// All other settings that change losses or updates. There is a row only if the configuration sets another value than
// the default. training.exclude_samples is not among them, because it numbers samples from the start of a Titan run.
const std::vector<std::string>& kept_if_set() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list;
    for (const recipe::Key& key : recipe::key_table()) {
      const bool in_place = key.cls == recipe::KeyClass::kCurve && key.effect == recipe::ChangeEffect::kInPlace;
      const bool listed = std::ranges::any_of(kCompared, [&](const char* name) { return key.name == name; });
      const bool other = key.name == kRules || key.name == "training.exclude_samples";
      if (key.value_in != nullptr && in_place && key.acts_through.empty() && !listed && !other)
        list.push_back(key.name);
    }
    return list;
  }();
  return keys;
}

}  // namespace

const std::vector<std::string>& torchtitan_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list = recipe::lr_keys();
    list.insert(list.end(), std::begin(kCompared), std::end(kCompared));
    list.insert(list.end(), kept_if_set().begin(), kept_if_set().end());
    list.insert(list.end(), {"debug.seed", kRules, "model.flavor", "parallelism.data_parallel_replicate_degree",
                             "parallelism.data_parallel_shard_degree"});
    return list;
  }();
  return keys;
}

Result<recipe::Config> read_torchtitan(const Settings& rows) { return recipe::config_of_rows(rows, torchtitan_keys()); }

std::string flavor_name(const recipe::Config& config) { return config.model.flavor.value_or("debugmodel"); }

std::uint64_t data_ranks(const recipe::Config& config) {
  const recipe::Config::Parallelism& mesh = config.parallelism;
  return static_cast<std::uint64_t>(mesh.data_parallel_replicate_degree *
                                    std::max<std::int64_t>(mesh.data_parallel_shard_degree, 0));
}

double next_lr(const ckpt::LrSettings& settings, std::uint64_t step) {
  const std::uint64_t total = settings.total_steps, rest = total - std::min(settings.warmup_steps, total);
  // Without a decay, torchtitan's virtual step after the last one has the peak rate, while Titan's schedule has ended.
  // This rate is never applied.
  if (step == total && ckpt::decay_length(settings.decay_ratio, total, rest, rest) == 0) return settings.peak;
  return ckpt::lr_at(ckpt::schedule_from(settings).phases, step + 1);
}

Settings curve_rows(const recipe::Config& config, std::uint64_t world) {
  recipe::Config said = config;
  if (said.training.global_batch_size <= 0)
    said.training.global_batch_size = said.training.local_batch_size * static_cast<std::int64_t>(world);
  Settings rows = ckpt::lr_rows(recipe::lr_settings(said));
  for (const char* key : kCompared)
    rows.emplace_back(key, recipe::to_toml(*recipe::get_value(*recipe::find_key(key), said)));
  for (const std::string& key : kept_if_set()) {
    const auto value = recipe::get_value(*recipe::find_key(key), said);
    if (value && value != recipe::get_value(*recipe::find_key(key), recipe::Config{}))
      rows.emplace_back(key, recipe::to_toml(*value));
  }
  if (!said.optimizer.rules.empty()) rows.emplace_back(kRules, recipe::rules_row(said.optimizer.rules));
  std::ranges::sort(rows);
  return rows;
}

Result<std::uint64_t> world_of(const recipe::Config& config) {
  const std::uint64_t ranks = data_ranks(config);
  if (ranks > 0 || config.training.global_batch_size > 0) return std::max<std::uint64_t>(ranks, 1);
  return ckpt::incompatible("the configuration does not say how many sequences a step has")
      .with_hint("add: --set training.global_batch_size=N");
}

std::uint64_t batch_of(const recipe::Config& config, std::uint64_t world) {
  const auto global = static_cast<std::uint64_t>(std::max<std::int64_t>(config.training.global_batch_size, 0));
  return global > 0 ? global : static_cast<std::uint64_t>(config.training.local_batch_size) * world;
}

std::string uncompared_settings(const recipe::Config& config) {
  std::string list;
  for (const char* key : {"training.max_norm", "training.mixed_precision_param"})
    list += (list.empty() ? "" : ", ") + std::string(key) + " = " +
            recipe::to_toml(*recipe::get_value(*recipe::find_key(key), config));
  return "compared with nothing, for no file says it: " + list;
}

void note_average(const recipe::Config& config, ImportPlan& plan) {
  if (config.training.ema == 0) return;
  plan.notes.push_back("training.ema = " + ckpt::toml_float(config.training.ema) +
                       ": there is no average of the parameters here, so it begins with those of step " +
                       std::to_string(plan.step));
}

bool has_run_settings(const Settings& rows) {
  return std::ranges::any_of(rows, [](const auto& row) {
    return row.second != ckpt::kNotSet && (row.first.starts_with("optimizer.") ||
                                           row.first.starts_with("lr_scheduler.") || row.first == "training.steps");
  });
}

}  // namespace titan::convert::dcp
