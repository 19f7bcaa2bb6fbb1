#include "ckpt/ops/lr_set.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/toml_text.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::ckpt {
namespace {

constexpr const char* kTotalSteps = "lr_scheduler.total_steps";

LrSettings next_settings(const LrSettings& accepted, const LrSetOptions& options) {
  LrSettings next = accepted;
  next.total_steps = options.steps;
  if (options.peak) next.peak = *options.peak;
  if (options.warmup) next.warmup_steps = *options.warmup;
  if (options.decay_ratio) next.decay_ratio = *options.decay_ratio;
  if (options.decay_type) next.decay_type = *options.decay_type;
  if (options.min_factor) next.min_lr_factor = *options.min_factor;
  return next;
}

Status check_settings(const LrSettings& next) {
  if (!std::isfinite(next.peak) || next.peak < 0)
    return invalid("--peak is " + toml_float(next.peak) + ", expected a number of 0 or more");
  if (next.decay_ratio && !(*next.decay_ratio >= 0 && *next.decay_ratio <= 1))
    return invalid("--decay-ratio is " + toml_float(*next.decay_ratio) + ", expected 0 to 1 or none");
  if (next.decay_type != "linear" && next.decay_type != "sqrt" && next.decay_type != "cosine")
    return invalid("--decay-type is '" + next.decay_type + "', expected linear, sqrt or cosine");
  if (!(next.min_lr_factor >= 0 && next.min_lr_factor <= 1))
    return invalid("--min-factor is " + toml_float(next.min_lr_factor) + ", expected 0 to 1");
  return ok_status();
}

// Adjusts the stored configuration. A setting that is not set has no row; lr_scheduler.total_steps keeps a row only if
// it had one.
Settings new_config(Settings config, const LrSettings& next) {
  const bool pinned = setting(config, kTotalSteps) != kNotSet;
  Settings rows{{kTrainingSteps, std::to_string(next.total_steps)}};
  for (const auto& [key, value] : lr_rows(next)) {
    if (key == kTotalSteps && !pinned) continue;
    if (value != kNotSet) {
      rows.emplace_back(key, value);
    } else {
      std::erase_if(config, [&key = key](const auto& row) { return row.first == key; });
    }
  }
  return with_rows(std::move(config), rows);
}

std::string toml_lines(const Settings& config, const LrSettings& next) {
  std::string text = "[training]\nsteps = " + std::to_string(next.total_steps) +
                     "\n\n[optimizer]\nlr = " + toml_float(next.peak) +
                     "\n\n[lr_scheduler]\nwarmup_steps = " + std::to_string(next.warmup_steps) + "\n";
  if (setting(config, kTotalSteps) != kNotSet) text += "total_steps = " + std::to_string(next.total_steps) + "\n";
  text += next.decay_ratio ? "decay_ratio = " + toml_float(*next.decay_ratio) + "\n"
                           : "# decay_ratio: leave it out, it is not set\n";
  return text + "decay_type = " + toml_string(next.decay_type) + "\nmin_lr_factor = " + toml_float(next.min_lr_factor) +
         "\n";
}

std::string history_note(const LrSetOptions& options, std::uint64_t step, const std::vector<std::string>& changed) {
  std::string note = "lr set after step " + std::to_string(step) + ": " + policy_name(options.policy) + " to " +
                     std::to_string(options.steps) + " steps";
  for (const std::string& row : changed) note += "; " + row;
  return note;
}

struct NewState {
  Manifest manifest;
  std::string lr, train;  ///< the JSON members; train is empty when the component is absent
};

Result<NewState> new_state(Fs& fs, const CheckpointReader& reader, const LrSetOptions& options,
                           const LrSetReport& report) {
  const LrSchedule& after = report.preview.after;
  NewState state;
  state.manifest = derived_manifest(fs, reader, options);
  state.manifest.config = new_config(state.manifest.config, after.accepted);
  state.lr = encode_lr_schedule(after);
  const auto read_back = decode_lr_schedule(json_path(kLrScheduler), state.lr);
  if (!read_back.ok() || *read_back != after)
    return failed("the new " + json_path(kLrScheduler) + " would read back as another schedule");
  ManifestBuilder builder(state.manifest);
  builder.put_json(kLrScheduler, state.lr);
  if (state.manifest.component(kTrainState)) {
    TITAN_ASSIGN_OR_RETURN(TrainState train, reader.train_state());
    train.accepted = with_rows(train.accepted, lr_rows(after.accepted));
    if (!train.attempts.empty()) train.attempts.back().notes.push_back(report.note);
    state.train = encode_train_state(train);
    builder.put_json(kTrainState, state.train);
  }
  TITAN_ASSIGN_OR_RETURN(IdState id, id_state(reader, state.manifest));
  id.lr = after;
  builder.seal(id);
  return state;
}

}  // namespace

Result<LrSetReport> plan_lr_set(Fs& fs, const LrSetOptions& options) {
  LrSetReport report;
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, open_with_schedule(fs, options.src, &report.before));
  const std::uint64_t step = reader.manifest().step;
  report.src = reader.path();
  report.dst = options.dst;
  const LrSettings next = next_settings(report.before.accepted, options);
  TITAN_RETURN_IF_ERROR(check_settings(next));
  if (options.steps < step)
    return incompatible("--steps " + std::to_string(options.steps) + " is before the checkpoint, which is at step " +
                        std::to_string(step))
        .with_hint("give " + std::to_string(step) + " or more, or start from an older step");
  report.preview = preview_lr(report.before, step, next, options.policy, options.rewarm_from_zero, options.steps);
  if (!report.preview.refused.ok()) return report.preview.refused;
  TITAN_RETURN_IF_ERROR(check_rewrite(fs, report.src, options.dst, options.force));
  report.changed = changed_rows(report.before.accepted, next);
  report.toml = toml_lines(reader.manifest().config, next);
  report.note = history_note(options, step, report.changed);
  report.hidden = hidden_from_resume(options.dst, step);
  TITAN_ASSIGN_OR_RETURN(const NewState state, new_state(fs, reader, options, report));
  report.warnings = parity_left_out(reader.manifest(), options.dst);
  report.old_id = reader.manifest().id;
  report.new_id = state.manifest.id;
  TITAN_ASSIGN_OR_RETURN(report.verified, verify_source(fs, report.src, options));
  return report;
}

Status write_lr_set(Fs& fs, const LrSetOptions& options, LrSetReport& report) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, report.src));
  // Nothing is written if SRC was replaced after plan_lr_set().
  if (reader.manifest().id != report.old_id) return failed(report.src + " has changed since the preview");
  TITAN_ASSIGN_OR_RETURN(const NewState state, new_state(fs, reader, options, report));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite,
                         Rewrite::begin(fs, report.src, options.dst, options.force));
  std::vector<std::string> fresh{json_path(kLrScheduler)};
  TITAN_RETURN_IF_ERROR(rewrite->write(fresh.back(), state.lr));
  if (!state.train.empty()) {
    fresh.push_back(json_path(kTrainState));
    TITAN_RETURN_IF_ERROR(rewrite->write(fresh.back(), state.train));
  }
  TITAN_ASSIGN_OR_RETURN(report.files, carry_members(*rewrite, state.manifest, fresh, options.cancel));
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  TITAN_RETURN_IF_ERROR(rewrite->publish(state.manifest));
  report.warnings.insert(report.warnings.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  report.written = true;
  return ok_status();
}

}  // namespace titan::ckpt
