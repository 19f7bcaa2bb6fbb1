#include "recipe/change/continuation.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/table_line.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "recipe/change/change_lines.h"
#include "recipe/change/excluded_samples.h"
#include "recipe/keys/config.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {
namespace {

// The row of accepted settings that lists excluded components, so that the same command line excludes them only once.
constexpr const char* kExcludeRow = "checkpoint.exclude_from_loading";
constexpr const char* kExcludeSamples = "training.exclude_samples";

bool contains(const std::vector<std::string>& words, const char* word) {
  return std::ranges::find(words, word) != words.end();
}

std::string from_step(const StoredRun& stored) { return "from step " + std::to_string(stored.state.step + 1) + " on"; }

/// The factor by which the bias-corrected moment at t grows when its beta changes: (1 - old^t) / (1 - new^t).
std::string beta_factor(const Change& change, const StoredRun& stored, const char* moment) {
  const double t = static_cast<double>(stored.optimizer_step);
  const auto old_beta = ckpt::number_of<double>(change.drift.stored),
             new_beta = ckpt::number_of<double>(change.drift.config);
  if (!old_beta || !new_beta) return "";
  const double before = 1 - std::pow(*old_beta, t), after = 1 - std::pow(*new_beta, t);
  if (!(t > 0) || !(after > 0)) return "";
  return ckpt::printed("; %s changes by a factor of %.3g", moment, before / after);
}

std::string in_place(const Change& change, const StoredRun& stored) {
  std::string text = "the config's value " + from_step(stored) + ", moments and Adam's step kept";
  if (change.drift.key == "optimizer.beta1") text += beta_factor(change, stored, "m-hat");
  if (change.drift.key == "optimizer.beta2") text += beta_factor(change, stored, "v-hat");
  return text;
}

std::string new_total(const StoredRun& stored, const RunPlan& plan, std::int64_t steps) {
  const auto left =
      static_cast<std::uint64_t>(steps) - std::min<std::uint64_t>(static_cast<std::uint64_t>(steps), stored.state.step);
  return std::to_string(stored.state.tokens + left * static_cast<std::uint64_t>(plan.batch.tokens_per_step())) +
         " tokens at step " + std::to_string(steps);
}

/// The number of samples of the current epoch that the run has not taken yet; 0 between epochs.
std::uint64_t unseen(const ckpt::DataPosition& data) {
  if (data.samples_per_epoch == 0) return 0;
  const std::uint64_t into = (data.samples - data.epoch_base) % data.samples_per_epoch;
  return into == 0 ? 0 : data.samples_per_epoch - into;
}

/// The first epoch of which no sample was used so far.
std::uint64_t next_epoch(const ckpt::DataPosition& data) {
  if (!data.sets.empty()) {
    const std::vector<std::uint64_t> drawn = ckpt::Mixture(data).drawn(data.samples);
    std::uint64_t passes = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i)
      passes = std::max(passes, (drawn[i] + data.sets[i].samples - 1) / data.sets[i].samples);
    return passes;
  }
  return data.samples == data.epoch_base || data.samples_per_epoch == 0 ? data.first_epoch : last_epoch(data) + 1;
}

ckpt::DataPosition in_new_epoch(const ckpt::DataPosition& stored, ckpt::DataPosition dataset) {
  dataset.samples = dataset.epoch_base = stored.samples;
  dataset.excluded = ckpt::ahead_of(dataset.excluded, dataset.samples);
  dataset.first_epoch = next_epoch(stored);
  // The samples drawn of each set are added by continued_mixture().
  dataset.seed = stored.seed;  // the run's seed, not the one that the dataset was opened with
  return dataset;
}

/// The configured dataset, with the checkpoint's file names and order if the file contents are the checkpoint's.
ckpt::DataPosition as_stored(const ckpt::DataPosition& stored, ckpt::DataPosition dataset, const ckpt::FileMatch& match,
                             bool cut_anew = false) {
  if (!dataset.sets.empty()) return ckpt::continued_mixture(stored, dataset, cut_anew);
  if (match.same && stored.kind == dataset.kind) dataset.files = stored.files;
  return dataset;
}

ChangeEffect effect_of(const Drift& drift, const Config& config, bool other_kind) {
  const bool tokenizer_follows = drift.key == "model.tokenizer" && other_kind;
  // With packing "whole", another document-end token gives other samples.
  const bool cuts = drift.key == "training.document_end" && config.training.pack == "whole";
  return tokenizer_follows || cuts ? ChangeEffect::kNewEpoch : change_effect(drift.key);
}

bool is_of_sets(const Drift& drift) { return drift.key == "training.datasets" || drift.key == "training.dataset_path"; }

/// The effect of a change on the data.
struct DataChange {
  bool other_kind = false;  ///< text files were replaced by token files, or the reverse
  bool fresh = false;       ///< the data start again at the first sample
  bool mixed = false;       ///< the configuration has a mixture of several sets
  bool was_mixed = false;   ///< the checkpoint has a mixture of several sets
  bool cut_anew = false;    ///< samples are cut differently, or are in another order
  std::string other_sets, other_files;
};

Change describe(const Drift& drift, const StoredRun& stored, const Config& config, const RunPlan& plan,
                bool lr_policy_named, const DataChange& data) {
  Change change{drift, typed_name(drift.key, config), effect_of(drift, config, data.other_kind)};
  change.allow = allow_name(drift.key, config);
  switch (change.effect) {
    case ChangeEffect::kSchedule:
      change.what = "the LR schedule changes " + from_step(stored) + " by lr_scheduler.on_change";
      change.needs_policy = !lr_policy_named;
      break;
    case ChangeEffect::kInPlace: change.what = in_place(change, stored); break;
    case ChangeEffect::kGlobalBatch:
      change.what = "the config's value " + from_step(stored) + " at the same sample; the LR is not scaled; " +
                    new_total(stored, plan, config.training.steps);
      break;
    case ChangeEffect::kNewEpoch: {
      const std::string step = std::to_string(stored.state.step + 1);
      change.what = data.fresh ? "the data begins at sample 0 of epoch 0 at step " + step
                               : "a new epoch begins at step " + step + "; " + std::to_string(unseen(stored.data)) +
                                     " samples of the old one stay unseen";
      if (data.mixed && !data.fresh && !is_of_sets(drift)) change.what = "each set begins a new pass at step " + step;
      // For a mixture, the number of samples that no step has seen has no meaning.
      if (data.was_mixed && !data.mixed && !data.fresh)
        change.what = "from step " + step + " on the data are one set, which begins a new pass";
      if (data.mixed && !data.fresh && is_of_sets(drift))
        change.what = "the shares of the configuration " + from_step(stored);
      if (is_of_sets(drift) && !data.fresh && !data.other_sets.empty()) change.what += ": " + data.other_sets;
      if (data.mixed && !data.fresh && is_of_sets(drift) && !data.cut_anew)
        change.what += "; sets with unchanged contents continue at their positions, others begin";
      if (drift.key == "training.dataset_path" && !data.other_files.empty() && !data.was_mixed)
        change.what = data.other_files + "; " + change.what;
      break;
    }
    case ChangeEffect::kNever:
      change.what = "cannot change within a run";
      if (drift.key == "validation.holdout")
        change.what += " (with a validation.dataset_path of its own nothing is held back)";
      change.allow.clear();
      break;
  }
  return change;
}

/// Removes changes that follow from another key's change. Several keys with one effect: describes it only at the first.
void say_once(std::vector<Change>& changes) {
  const std::vector<Change> all = changes;
  std::erase_if(changes, [&](const Change& change) {
    return change.key != change.drift.key && std::ranges::any_of(all, [&](const Change& other) {
             return other.drift.key == change.key && other.drift.stored == change.drift.stored &&
                    other.drift.config == change.drift.config;
           });
  });
  for (std::size_t i = 1; i < changes.size(); ++i) {
    const auto first = std::find_if(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Change& before) { return before.what == changes[i].what; });
    if (changes[i].effect == ChangeEffect::kNewEpoch && first != changes.begin() + static_cast<std::ptrdiff_t>(i))
      changes[i].what = "as " + first->drift.key;
  }
}

/// The policy to try first: after the end of a schedule only a new warm-up gives a useful rate; before it, the rest can
/// be stretched.
const char* suggested_policy(const Continuation& run, const StoredRun& stored) {
  using enum ckpt::LrPolicy;
  const bool over = ckpt::curve_end(stored.lr.phases) <= stored.state.step;
  for (const ckpt::LrPolicy policy : {over ? kRewarm : kRescale, kRewarm, kConfig})
    if (!run.previews.empty() && run.previews[static_cast<std::size_t>(policy)].refused.ok())
      return ckpt::policy_name(policy);
  return "POLICY";
}

/// "training.steps is 3000, this run was planned for 200: how should the learning-rate schedule continue?"
std::string question(const Continuation& run, const StoredRun& stored) {
  const Change& first = run.changes[0];
  const bool planned = first.key == "training.steps" || first.key == "lr_scheduler.total_steps";
  const std::string what =
      run.changes.size() == 1
          ? first.key + " is " + first.drift.config +
                (planned ? ", this run was planned for " : ", this run was started with ") + first.drift.stored
          : std::to_string(run.changes.size()) + " settings of the learning rate differ from '" + stored.path + "'";
  return what + ": how should the learning-rate schedule continue?";
}

/// Tables with both values of every setting, and with the schedule of each policy.
std::vector<std::string> tables(const Continuation& run, bool with_changes) {
  std::vector<std::string> lines;
  if (with_changes) lines = change_table(run.changes);
  const std::vector<std::string> policies = preview_table(run.previews);
  lines.insert(lines.end(), policies.begin(), policies.end());
  return lines;
}

// What has to be added to the command is a line to paste: "..." stands for the user's command.
constexpr const char* kPaste = "\n    ... ";

Status not_allowed(const Continuation& run, const StoredRun& stored) {
  const bool one = run.changes.size() == 1;
  const auto all_of = [&](ChangeEffect effect) {
    return std::ranges::all_of(run.changes, [&](const Change& c) { return c.effect == effect; });
  };
  const bool of_rate = all_of(ChangeEffect::kSchedule);
  Status status =
      ckpt::incompatible(of_rate ? question(run, stored)
                                 : "the configuration differs from checkpoint '" + stored.path + "' in " +
                                       std::to_string(run.changes.size()) +
                                       (one ? " setting that shapes" : " settings that shape") + " the loss curve");
  const bool never = std::ranges::any_of(run.changes, [](const Change& c) { return c.effect == ChangeEffect::kNever; });
  if (never) {
    status.causes = ckpt::table_causes(change_table(run.changes));
    return status.with_hint("put the checkpoint's value back, or start a new run from its weights: --init-from " +
                            ckpt::shell_word(stored.path) + " with another job.dump_folder");
  }
  status.causes = ckpt::table_causes(tables(run, !of_rate || !one));
  std::vector<std::string> names;
  bool policy = false;
  for (const Change& change : run.changes) {
    if (change.allow.empty()) continue;
    if (!contains(names, change.allow.c_str())) names.push_back(change.allow);
    policy |= change.needs_policy;
  }
  const std::string back = "put the checkpoint's value" + std::string(one ? "" : "s") + " back, or ";
  return status.with_hint(
      back + (policy ? "choose a policy (`titan-train plan` draws each), for example:" : "continue with the change:") +
      kPaste + "--allow " + ckpt::joined(names, ",") +
      (policy ? " --lr_scheduler.on_change=" + std::string(suggested_policy(run, stored)) : ""));
}

Status no_policy(const Continuation& run, const StoredRun& stored) {
  Status status = ckpt::invalid("a change of the LR schedule is allowed, but lr_scheduler.on_change does not say how");
  status.causes = ckpt::table_causes(tables(run, true));
  return status.with_hint("add a policy (`titan-train plan` draws each), for example:" + std::string(kPaste) +
                          "--lr_scheduler.on_change=" + suggested_policy(run, stored));
}

/// The components of `exclude` that earlier starts have not excluded; these are in `before` ("a,b").
std::vector<std::string> not_yet_excluded(const std::vector<std::string>& exclude, const std::string& before) {
  std::vector<std::string> rest;
  for (const std::string& component : exclude)
    if (("," + before + ",").find("," + component + ",") == std::string::npos) rest.push_back(component);
  return rest;
}

void apply_schedule(Continuation& run, const StoredRun& stored, const Permission& permission, bool excluded) {
  if (excluded && permission.on_change && *permission.on_change != ckpt::LrPolicy::kConfig) {
    run.verdict =
        ckpt::invalid(
            "checkpoint.exclude_from_loading = lr_scheduler means policy config, and lr_scheduler.on_change = " +
            std::string(ckpt::policy_name(*permission.on_change)))
            .with_hint("leave one of them out");
    return;
  }
  const ckpt::LrPolicy policy =
      excluded ? ckpt::LrPolicy::kConfig : permission.on_change.value_or(ckpt::LrPolicy::kKeep);
  if (!excluded && !permission.on_change) {
    run.verdict = no_policy(run, stored);
    return;
  }
  const ckpt::LrPreview& chosen = run.previews[static_cast<std::size_t>(policy)];
  if (!chosen.refused.ok()) {
    run.verdict = chosen.refused;
    const std::vector<std::string> lines = ckpt::table_causes(preview_table(run.previews));
    run.verdict.causes.insert(run.verdict.causes.end(), lines.begin(), lines.end());
    return;
  }
  run.lr = chosen.after;
  run.policy = policy;
  run.warnings.insert(run.warnings.end(), chosen.warnings.begin(), chosen.warnings.end());
}

/// The effect of the differing rows on the data; the caller sets `fresh`.
DataChange change_of_data(const std::vector<Drift>& drift, const ckpt::DataPosition& stored,
                          const ckpt::DataPosition& dataset, const Config& config) {
  DataChange data{.mixed = !dataset.sets.empty(), .was_mixed = !stored.sets.empty()};
  data.other_kind = std::ranges::any_of(drift, [](const Drift& row) { return row.key == "training.dataset"; });
  data.cut_anew = std::ranges::any_of(drift, [&](const Drift& row) {
    return effect_of(row, config, data.other_kind) == ChangeEffect::kNewEpoch && !is_of_sets(row);
  });
  if (data.mixed || data.was_mixed) data.other_sets = ckpt::mixture_difference(stored, dataset);
  return data;
}

/// `dataset` at sample 0 of epoch 0, with no samples drawn from any set.
ckpt::DataPosition at_its_beginning(ckpt::DataPosition dataset, std::uint64_t seed) {
  for (ckpt::MixedSet& set : dataset.sets) {
    if (set.most != 0) set.most -= set.uncounted;
    set.drawn = set.uncounted = 0;
  }
  dataset.seed = seed;
  return dataset;
}

/// Adds the warnings of an allowed start, and the entries about its changes for the run's history.
void say_what_changed(Continuation& run, std::uint64_t step, const Config& config,
                      const std::vector<std::string>& exclude) {
  // Every start gives this warning, not only the one that changed the schedule.
  const std::string rests =
      ckpt::zero_rate_warning(run.lr.phases, step + 1, static_cast<std::uint64_t>(config.training.steps));
  if (!rests.empty() && !contains(run.warnings, rests.c_str())) run.warnings.push_back(rests);
  if (run.fresh_optimizer)
    run.warnings.push_back("the optimizer is not loaded: moments of zero, Adam's step 0; expect a bump in the loss");
  for (const Change& change : run.changes)
    run.changed.push_back(change.drift.key + ": " + change.drift.stored + " -> " + change.drift.config);
  for (const std::string& component : exclude) run.changed.push_back(component + ": started anew");
}

}  // namespace

ckpt::Settings first_settings(const Config& config, const RunPlan& plan, const ckpt::DataPosition& dataset,
                              std::uint64_t seed, const Permission& permission) {
  ckpt::Settings settings = accepted_settings(config, plan, seed, dataset);
  if (!permission.exclude.empty())
    settings = ckpt::with_rows(std::move(settings), {{kExcludeRow, ckpt::joined(permission.exclude, ",")}});
  return settings;
}

Continuation continue_run(const StoredRun& stored, const Config& config, const RunPlan& plan,
                          const ckpt::DataPosition& configured, std::uint64_t seed, const Permission& permission) {
  Continuation run;
  const ckpt::FileMatch match = ckpt::match_files(stored.data.files, configured.files);
  const ckpt::DataPosition dataset = as_stored(stored.data, configured, match);
  // false: the data were texts and are token ids now (or the reverse), or the checkpoint has no data position
  const bool known = stored.data.kind == configured.kind;
  if (known) run.same_data = ckpt::same_files_note(match);
  run.lr = stored.lr;
  run.data = stored.data;
  run.accepted = first_settings(config, plan, dataset, seed, permission);

  // In a start from another run's checkpoint, the components that the other run excluded do not count.
  std::vector<std::string> exclude =
      not_yet_excluded(permission.exclude, stored.elsewhere ? "" : ckpt::setting(stored.state.accepted, kExcludeRow));
  if (!stored.has_optimizer && !contains(exclude, "optimizer")) exclude.emplace_back("optimizer");
  const bool anew_lr = contains(exclude, "lr_scheduler");
  // An imported checkpoint may lack the data position or the LR schedule. Missing components start anew, as if they
  // were excluded.
  run.fresh_data = contains(exclude, "dataloader") || stored.data.kind.empty();
  run.fresh_optimizer = contains(exclude, "optimizer");

  const auto without_exclude = [](ckpt::Settings settings) {
    std::erase_if(settings, [](const auto& row) { return row.first == kExcludeRow; });
    return settings;
  };
  const std::vector<Drift> drift = find_drift(without_exclude(stored.state.accepted), without_exclude(run.accepted));
  DataChange data = change_of_data(drift, stored.data, dataset, config);
  data.fresh = run.fresh_data;
  if (known && !data.mixed) data.other_files = ckpt::other_files_note(match);
  bool all_allowed = true, schedule = anew_lr, new_epoch = false;
  for (const Drift& row : drift) {
    // This row has numbers of samples, so it differs if samples are cut differently, although no set was changed.
    if (row.key == "training.datasets" && data.cut_anew && data.mixed && data.other_sets.empty()) continue;
    if (row.key == kExcludeSamples && excludes_same_samples(stored.data, row.stored, configured.excluded)) continue;
    Change change = describe(row, stored, config, plan, permission.on_change.has_value(), data);
    change.allowed = change.effect != ChangeEffect::kNever &&
                     (permission.allow.contains(row.key) || (anew_lr && change.effect == ChangeEffect::kSchedule) ||
                      (stored.data.kind.empty() && change.effect == ChangeEffect::kNewEpoch));
    if (change.allowed) change.allow.clear();
    all_allowed &= change.allowed;
    schedule |= change.effect == ChangeEffect::kSchedule;
    new_epoch |= change.effect == ChangeEffect::kNewEpoch;
    run.changes.push_back(std::move(change));
  }
  say_once(run.changes);
  run.data.excluded =
      still_excluded(stored.data, ckpt::setting(stored.state.accepted, kExcludeSamples), configured.excluded);
  if (new_epoch) run.data = in_new_epoch(stored.data, as_stored(stored.data, configured, match, data.cut_anew));
  const auto previews = [&] {
    return ckpt::preview_policies(stored.lr, stored.state.step, plan.lr, permission.rewarm_from_zero,
                                  static_cast<std::uint64_t>(config.training.steps));
  };
  if (!all_allowed) {
    if (std::ranges::any_of(run.changes,
                            [](const Change& c) { return c.effect == ChangeEffect::kSchedule && !c.allowed; }))
      run.previews = previews();
    run.verdict = not_allowed(run, stored);
    return run;
  }
  if (stored.lr.phases.empty()) {
    run.lr = ckpt::schedule_from(plan.lr);
    run.policy = ckpt::LrPolicy::kConfig;
  } else if (schedule) {
    run.previews = previews();
    apply_schedule(run, stored, permission, anew_lr);
  }
  if (!run.verdict.ok()) return run;

  if (run.fresh_data) {
    run.data = at_its_beginning(dataset, stored.state.seed);
    run.warnings.push_back("the data position is not loaded: the data begins again at sample 0 of epoch 0");
  }
  if (!data.fresh && !data.other_sets.empty()) run.other_sets = "data: " + data.other_sets;
  say_what_changed(run, stored.state.step, config, exclude);
  return run;
}

}  // namespace titan::recipe
