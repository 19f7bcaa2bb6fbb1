#include "ckpt/ops/lr_show.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {

std::uint64_t stored_training_steps(const Manifest& manifest) {
  return number_of<std::uint64_t>(setting(manifest.config, kTrainingSteps)).value_or(0);
}

std::vector<std::string> changed_rows(const LrSettings& before, const LrSettings& after) {
  std::vector<std::string> changed;
  const Settings old_rows = lr_rows(before), new_rows = lr_rows(after);
  for (std::size_t i = 0; i < old_rows.size(); ++i) {
    if (old_rows[i].second != new_rows[i].second)
      changed.push_back(old_rows[i].first + ": " + old_rows[i].second + " -> " + new_rows[i].second);
  }
  return changed;
}

Result<CheckpointReader> open_with_schedule(Fs& fs, const std::string& spec, LrSchedule* schedule) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, resolve_checkpoint(fs, spec));
  TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
  if (!reader.manifest().component(kLrScheduler)) {
    Status status = incompatible(path + " has no LR schedule: its component lr_scheduler was left out");
    if (const auto& from = reader.manifest().derived_from)
      status.hint = "it was made from " + from->path + " (step " + std::to_string(from->step) + ")";
    return status;
  }
  TITAN_ASSIGN_OR_RETURN(*schedule, reader.lr_schedule());
  if (schedule->phases.empty()) return corrupt(path + ": the LR schedule has no phase");
  return reader;
}

Result<LrShowReport> lr_show(Fs& fs, const std::string& checkpoint, const std::optional<LrConfig>& config) {
  LrShowReport report;
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, open_with_schedule(fs, checkpoint, &report.schedule));
  report.path = reader.path();
  report.step = reader.manifest().step;
  report.training_steps = stored_training_steps(reader.manifest());
  report.last = std::max({curve_end(report.schedule.phases), report.training_steps, report.step + 1});
  report.config = config;
  if (!config) return report;
  report.last = std::max(report.last, config->training_steps);
  report.changed = changed_rows(report.schedule.accepted, config->settings);
  if (report.changed.empty()) return report;
  report.previews = preview_policies(report.schedule, report.step, config->settings, config->rewarm_from_zero,
                                     config->training_steps);
  return report;
}

}  // namespace titan::ckpt
