#include "converters/dcp/written_run.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/agreement.h"
#include "converters/dcp/torchtitan.h"
#include "recipe/keys/config.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::convert::dcp {
namespace {

constexpr std::uint64_t kMostSteps = 100'000'000;

bool same_rate(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

// Checks that torchtitan can continue Titan's schedule. torchtitan computes rates only from its configuration, so the
// rest of Titan's schedule must equal a schedule that such a configuration gives.
Status check_curve(const CheckpointReader& source, const ckpt::LrSchedule& lr) {
  const std::uint64_t step = source.manifest().step;
  const ckpt::LrSchedule plain = ckpt::schedule_from(lr.accepted);
  const std::uint64_t end = std::max(ckpt::curve_end(lr.phases), ckpt::curve_end(plain.phases)) + 1;
  for (std::uint64_t n = step + 1; n <= std::min(end, step + kMostSteps); ++n) {
    const double ours = ckpt::lr_at(lr.phases, n), theirs = ckpt::lr_at(plain.phases, n);
    if (same_rate(ours, theirs)) continue;
    return ckpt::incompatible(source.path() + ": its learning rate is not one curve of torchtitan: at step " +
                              std::to_string(n) + " it is " + ckpt::toml_float(ours) + ", the settings alone give " +
                              ckpt::toml_float(theirs))
        .with_hint("--lr-from-config --config torchtitan.toml takes the curve of that file from the next step on");
  }
  return {};
}

/// Whether the skip rules leave out the optimizer's state. \error kIncompatible: they leave out a part of it, and torch
/// loads the state of all parameters or of none
Result<bool> leaves_out_slots(const ckpt::Manifest& manifest, SkipRules& skip) {
  std::size_t slots = 0, left_out = 0;
  std::string first;
  for (const ckpt::ParameterRecord& record : manifest.parameters)
    for (const ckpt::SlotTensor& slot : record.slots) {
      const std::string name = record.meta.name + "." + slot.name;
      ++slots;
      if (!skip.takes({name, "optimizer.state." + name})) continue;
      if (left_out++ == 0) first = name;
    }
  if (left_out == 0 || left_out == slots) return left_out > 0;
  return ckpt::incompatible("the rules leave out " + std::to_string(left_out) + " of the optimizer's " +
                            std::to_string(slots) + " tensors, '" + first +
                            "' first, and torch takes the state of all parameters or of none")
      .with_hint("--skip 'optimizer.*' leaves out all of it");
}

// Sets the optimizer's settings of `run`: the checkpoint's, and those that it lacks from the configuration.
Status set_optimizer(const std::string& path, const ExportOptions& options, Settings& rows, WrittenRun& run) {
  std::vector<std::string> unsaid;
  for (const char* key : {"optimizer.beta1", "optimizer.beta2", "optimizer.eps", "optimizer.weight_decay"}) {
    if (ckpt::setting(rows, key) != ckpt::kNotSet) continue;
    const std::string given = options.config ? ckpt::setting(*options.config, key) : ckpt::kNotSet;
    if (given == ckpt::kNotSet)
      unsaid.emplace_back(key);
    else
      rows = ckpt::with_rows(std::move(rows), {{key, given}});
  }
  const std::string file = options.names == DcpNames::kTorchtitan ? "torchtitan.toml" : "FILE.toml";  // 0.3.0: no TOML
  if (!unsaid.empty())
    return ckpt::incompatible(path + " does not say " + ckpt::joined(unsaid))
        .with_hint("give them with --config " + file + ", or leave the optimizer out with --skip 'optimizer.*'");
  TITAN_ASSIGN_OR_RETURN(const recipe::Config own, read_torchtitan(rows));
  run.beta1 = own.optimizer.beta1;
  run.beta2 = own.optimizer.beta2;
  run.eps = own.optimizer.eps;
  run.weight_decay = own.optimizer.weight_decay;
  run.rules = own.optimizer.rules;
  return {};
}

// torchtitan counts the tokens of one data rank. The configuration gives the number of ranks, else the checkpoint's
// mesh.
Result<std::uint64_t> ranks_of(const CheckpointReader& source, const ExportOptions& options) {
  const std::uint64_t world = std::max<std::uint32_t>(source.manifest().mesh.dp, 1);
  if (!options.config) return world;
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options.config));
  const std::uint64_t ranks = data_ranks(config);
  return ranks > 0 ? ranks : world;
}

void note_torchtitan(const WrittenRun& run, const ckpt::LrSettings& settings, std::uint64_t world,
                     std::vector<std::string>& notes) {
  notes.push_back("train_state.ntokens_seen is the count of one of " + std::to_string(world) +
                  " data ranks: torchtitan counts right on as many");
  notes.push_back(
      "put it at <dump_folder>/checkpoint/step-" + std::to_string(run.step) +
      " and set checkpoint.exclude_from_loading = [\"dataloader\"]: the data position cannot be translated");
  std::vector<std::string> said;
  for (const auto& [key, value] : ckpt::lr_rows(settings))
    if (value != ckpt::kNotSet) said.push_back(key + " = " + value);
  notes.push_back("torchtitan's configuration must say: " + ckpt::joined(said));
}

}  // namespace

Result<std::optional<WrittenRun>> find_written_run(const CheckpointReader& source, const ExportOptions& options,
                                                   SkipRules& skip, Settings& rows, std::vector<std::string>& notes) {
  const ckpt::Manifest& manifest = source.manifest();
  const bool theirs = options.names != DcpNames::kHuggingface;
  const auto no_run = [&](const std::string& why) {
    notes.push_back("the model alone is written: " + why +
                    (theirs ? "; load it with checkpoint.initial_load_path" : ""));
    return std::optional<WrittenRun>();
  };
  if (std::ranges::all_of(manifest.parameters, [](const auto& record) { return record.slots.empty(); }))
    return no_run("the checkpoint has no optimizer state");
  TITAN_ASSIGN_OR_RETURN(const bool no_slots, leaves_out_slots(manifest, skip));
  if (no_slots) return no_run("the optimizer is left out as asked");
  const Result<ckpt::LrSchedule> lr = source.lr_schedule();
  const Result<ckpt::TrainState> train = source.train_state();
  for (const Status& status : {lr.status(), train.status()})
    if (!status.ok() && status.code != ckpt::Code::kNotFound) return status;
  if (!lr.ok() || !train.ok())
    return no_run("the checkpoint has no lr_scheduler or train_state, so the optimizer state could not be used");

  WrittenRun run;
  TITAN_RETURN_IF_ERROR(set_optimizer(source.path(), options, rows, run));
  ckpt::LrSettings settings = lr->accepted;
  if (options.lr_from_config) {
    if (!options.config) return ckpt::invalid("--lr-from-config needs --config torchtitan.toml");
    TITAN_ASSIGN_OR_RETURN(const recipe::Config given, read_torchtitan(*options.config));
    settings = recipe::lr_settings(given);
    notes.push_back("the learning rate's curve is that of the configuration, from step " +
                    std::to_string(manifest.step + 1) + " on");
  } else if (theirs) {
    TITAN_RETURN_IF_ERROR(check_curve(source, *lr));
  }
  if (options.config)
    TITAN_RETURN_IF_ERROR(check_agreement(source.path(), rows, lr->accepted, *options.config, !options.lr_from_config));
  run.base_lr = settings.peak;
  const bool plain = theirs || options.lr_from_config;  // if false, any of Titan's schedules is accepted
  run.next_lr = plain ? next_lr(settings, manifest.step) : ckpt::lr_at(lr->phases, manifest.step + 1);
  run.step = manifest.step;
  run.tokens = train->tokens;
  if (theirs) {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t world, ranks_of(source, options));
    run.tokens = train->tokens / world;
    note_torchtitan(run, settings, world, notes);
  } else {
    notes.push_back("the learning rate of step " + std::to_string(run.step + 1) + " is " +
                    ckpt::toml_float(run.next_lr) +
                    "; what follows is the loading program's, as is the position in the data");
  }
  return std::optional(std::move(run));
}

namespace {

// The fields of a param group: a superset of those that torch up to 2.11 reads.
std::vector<std::pair<const char*, ItemValue>> group_fields(const WrittenRun& run, bool huggingface,
                                                            const recipe::UpdateSettings& update) {
  return {
      {"lr", ItemValue::of(run.next_lr * update.lr_factor)},
      {"betas", ItemValue::tuple({ItemValue::of(run.beta1), ItemValue::of(run.beta2)})},
      {"eps", ItemValue::of(run.eps)},
      {"weight_decay", ItemValue::of(update.weight_decay)},
      {"amsgrad", ItemValue::boolean(false)},
      {"maximize", ItemValue::boolean(false)},
      {"foreach", huggingface ? ItemValue::none() : ItemValue::boolean(false)},  // None: torch chooses
      {"capturable", ItemValue::boolean(false)},
      {"differentiable", ItemValue::boolean(false)},
      {"fused", huggingface ? ItemValue::none() : ItemValue::boolean(true)},  // torchtitan's default implementation
      {"decoupled_weight_decay", ItemValue::boolean(true)},
      {"initial_lr", ItemValue::of(run.base_lr * update.lr_factor)},
  };
}

}  // namespace

Result<std::vector<ValueItem>> run_values(const WrittenRun& run, DcpNames names,
                                          const std::vector<WrittenParameter>& parameters,
                                          std::vector<std::string>& notes) {
  const bool huggingface = names == DcpNames::kHuggingface;
  std::vector<ckpt::ParameterMeta> own;
  for (const WrittenParameter& parameter : parameters) own.push_back({.name = parameter.own});
  std::vector<std::string> unused;  // rules that match no written parameter; not reported
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::UpdateSettings> updates,
                         recipe::update_settings(run.weight_decay, run.rules, own, unused));
  std::vector<ValueItem> values;
  const auto add = [&](const char* part, std::string key, ItemValue value) {
    values.push_back({{part, std::move(key)}, std::move(value)});
  };
  const auto add_group = [&](const std::string& name, const recipe::UpdateSettings& update) {
    for (auto& [field, value] : group_fields(run, huggingface, update))
      add("optimizer", "param_groups." + name + "." + field, std::move(value));
  };
  // Parameters by their update settings. The group with the configured weight decay and factor 1 is first, as in
  // training loops that exempt norms from weight decay.
  std::vector<std::pair<recipe::UpdateSettings, std::vector<ItemValue>>> listed = {{{run.weight_decay, 1}, {}}};
  std::map<std::string, std::size_t> first;  // first parameter of a name: a fused tensor has several Titan parameters
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (const auto [at, added] = first.try_emplace(parameters[p].name, p); !added) {
      if (updates[p] == updates[at->second]) continue;
      return ckpt::incompatible("optimizer.rules say something else for " + parameters[p].own + " than for " +
                                parameters[at->second].own + ", and torchtitan 0.3.0 updates both as one tensor")
          .with_hint("--names torchtitan writes such a run, for torchtitan 0.2.2");
    }
    add_group(parameters[p].name, updates[p]);
    auto found = std::ranges::find(listed, updates[p], &decltype(listed)::value_type::first);
    if (found == listed.end()) found = listed.insert(found, {updates[p], {}});
    found->second.push_back(ItemValue::of(parameters[p].name));
  }
  if (listed.front().second.empty()) listed.erase(listed.begin());
  for (std::size_t group = 0; huggingface && group < listed.size(); ++group) {
    const std::string number = std::to_string(group);
    add_group(number, listed[group].first);
    add("optimizer", "param_groups." + number + ".params", ItemValue::list(std::move(listed[group].second)));
  }
  if (listed.size() > 1)
    notes.push_back("the optimizer has " + std::to_string(listed.size()) +
                    " groups, as optimizer.rules say: the loading program must have them in this order");
  const auto step = static_cast<std::int64_t>(run.step), tokens = static_cast<std::int64_t>(run.tokens);
  const bool whole = names != DcpNames::kNewerTorchtitan;  // torchtitan 0.3.0 computes rates from its configuration
  if (whole) add("lr_scheduler", "base_lrs", ItemValue::list({ItemValue::of(run.base_lr)}));
  add("lr_scheduler", "last_epoch", ItemValue::of(step));
  if (whole) {
    add("lr_scheduler", "_step_count", ItemValue::of(step + 1));
    add("lr_scheduler", "_is_initial", ItemValue::boolean(false));
    add("lr_scheduler", "_get_lr_called_within_step", ItemValue::boolean(false));
    add("lr_scheduler", "_last_lr", ItemValue::list({ItemValue::of(run.next_lr)}));
  }
  add("train_state", "step", ItemValue::of(step));
  add("train_state", huggingface ? "tokens" : "ntokens_seen", ItemValue::of(tokens));
  if (!huggingface) return values;
  add("lr_scheduler", "lr_lambdas", ItemValue::list({ItemValue::none()}));  // LambdaLR stores None for a plain function
  return values;
}

}  // namespace titan::convert::dcp
