#include "libtrain/job/forecast/fit_device.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

constexpr std::size_t kShown = 3;
constexpr std::int64_t kLossChunk = 2048;

struct Option {
  std::string word;
  std::function<void(recipe::Config&)> set;
  bool same_curve = true;
};

Option option(const std::string& key, const std::string& value, std::function<void(recipe::Config&)> set) {
  return {"--" + key + "=" + value, std::move(set)};
}

/// Each entry is one setting to change, with its possible values.
using Choices = std::vector<std::vector<Option>>;

Choices choices_of(const recipe::Config& config, const recipe::RunPlan& plan) {
  Choices choices;
  if (config.activation_checkpoint.mode != "full")
    choices.push_back({option("activation_checkpoint.mode", "full",
                              [](recipe::Config& c) { c.activation_checkpoint.mode = "full"; })});
  if (!plan.shard_gradients)
    choices.push_back({option("parallelism.data_parallel_sharding", "zero2",
                              [](recipe::Config& c) { c.parallelism.data_parallel_sharding = "zero2"; })});
  std::vector<Option>& stages = choices.emplace_back();
  for (std::int64_t pp = 2 * std::int64_t{plan.mesh.pp}; pp <= plan.mesh.world() && pp <= plan.dims.n_layers; pp *= 2)
    stages.push_back(option("parallelism.pipeline_parallel_degree", std::to_string(pp),
                            [pp](recipe::Config& c) { c.parallelism.pipeline_parallel_degree = pp; }));
  const std::int64_t tokens = plan.batch.micro * plan.batch.seq_len;
  if (plan.loss_chunk == 0 && tokens > kLossChunk) {
    choices.push_back({option("training.loss_chunk", std::to_string(kLossChunk),
                              [](recipe::Config& c) { c.training.loss_chunk = kLossChunk; })});
    choices.back().back().same_curve = false;
  }
  std::vector<Option>& micro = choices.emplace_back();
  for (std::int64_t size = plan.batch.micro / 2; size >= 1; size /= 2) {
    if (plan.batch.global % size != 0) continue;
    micro.push_back(option("parallelism.pipeline_parallel_microbatch_size", std::to_string(size),
                           [size](recipe::Config& c) { c.parallelism.pipeline_parallel_microbatch_size = size; }));
    micro.back().same_curve = false;
  }
  std::erase_if(choices, [](const std::vector<Option>& ways) { return ways.empty(); });
  return choices;
}

/// The configuration of `plan` for the same number of ranks, with another mesh if needed, and the same batch.
recipe::Config keep_batch(recipe::Config config, const recipe::RunPlan& plan, std::vector<std::string>& words) {
  const std::uint32_t world = plan.mesh.world();
  const auto pp = static_cast<std::uint32_t>(config.parallelism.pipeline_parallel_degree);
  if (pp == plan.mesh.pp) return config;
  if (config.parallelism.data_parallel_shard_degree != -1) {
    const std::int64_t shard = world / pp / config.parallelism.data_parallel_replicate_degree;
    config.parallelism.data_parallel_shard_degree = shard;
    words.push_back("--parallelism.data_parallel_shard_degree=" + std::to_string(shard));
  }
  if (config.training.global_batch_size == -1) {
    config.training.global_batch_size = plan.batch.global;
    words.push_back("--training.global_batch_size=" + std::to_string(plan.batch.global));
  }
  return config;
}

class Search {
 public:
  Search(const recipe::Config& config, const recipe::RunPlan& plan, const recipe::DeviceFigures& device)
      : config_(config), plan_(plan), device_(device), choices_(choices_of(config, plan)) {
    result_.least.rank_bytes = std::numeric_limits<std::uint64_t>::max();
  }

  FittingSearch run() {
    for (std::size_t changes = 1; changes <= choices_.size() && result_.fits.empty(); ++changes)
      try_all(0, changes, {}, config_);
    std::ranges::stable_sort(result_.fits, {}, &FittingSettings::step_seconds);
    if (result_.fits.size() > kShown) result_.fits.resize(kShown);
    return std::move(result_);
  }

 private:
  void try_all(std::size_t from, std::size_t changes, const FittingSettings& so_far, const recipe::Config& config) {
    if (changes == 0) return try_one(so_far, config);
    for (std::size_t i = from; i + changes <= choices_.size(); ++i) {
      for (const Option& way : choices_[i]) {
        FittingSettings next = so_far;
        next.words.push_back(way.word);
        next.same_curve = next.same_curve && way.same_curve;
        recipe::Config changed = config;
        way.set(changed);
        try_all(i + 1, changes - 1, next, changed);
      }
    }
  }

  void try_one(FittingSettings settings, const recipe::Config& changed) {
    const recipe::Config config = keep_batch(changed, plan_, settings.words);
    auto plan = recipe::make_run_plan(config, plan_.mesh.world(), plan_.batch.global);
    if (!plan.ok()) return;
    plan->node_ranks = plan_.node_ranks;
    const auto bytes = device_bytes(*plan, device_);
    if (!bytes.ok()) return;
    settings.rank_bytes = *bytes;
    if (*bytes > device_.memory_bytes) {
      if (*bytes < result_.least.rank_bytes) result_.least = settings;
      return;
    }
    const auto forecast = forecast_device(*plan, device_);
    if (!forecast.ok()) return;
    settings.step_seconds = forecast->step.total();
    result_.fits.push_back(std::move(settings));
  }

  const recipe::Config& config_;
  const recipe::RunPlan& plan_;
  const recipe::DeviceFigures& device_;
  Choices choices_;
  FittingSearch result_;
};

}  // namespace

FittingSearch settings_that_fit(const recipe::Config& config, const recipe::RunPlan& plan,
                                const recipe::DeviceFigures& device) {
  return Search(config, plan, device).run();
}

}  // namespace titan::train
