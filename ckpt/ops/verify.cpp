#include "ckpt/ops/verify.h"

#include <algorithm>
#include <cerrno>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {

namespace {

/// True for a folder that is or was a checkpoint. A step without its manifest is damaged; it is not "no checkpoint".
bool is_checkpoint(Fs& fs, const std::string& path) {
  if (fs.stat(join_path(path, kManifestFile)).ok() || has_parity(fs, path)) return true;
  const Result<FileInfo> info = fs.stat(path);
  return info.ok() && info->type == FileType::kDirectory &&
         parse_step_name(base_name(without_slashes(path))).has_value();
}

Result<std::vector<std::string>> steps_of_run(Fs& fs, const std::string& folder) {
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, scan_run(fs, folder));
  if (scan.steps.empty())
    return not_found(folder + ": no checkpoint there").with_hint("`titan-ckpt ls` shows what is in a run folder");
  std::vector<std::string> paths;
  for (const StepEntry& entry : scan.steps) paths.push_back(entry.path);
  return paths;
}

Result<std::vector<std::string>> targets(Fs& fs, const std::string& target, bool* is_run) {
  *is_run = false;
  if (is_checkpoint(fs, target)) return std::vector<std::string>{target};
  if (const Result<std::string> folder = resolve_run(fs, target); folder.ok()) {
    *is_run = true;
    return steps_of_run(fs, *folder);
  }
  TITAN_ASSIGN_OR_RETURN(std::string path, resolve_checkpoint(fs, target));
  if (!is_checkpoint(fs, path))
    return not_found(path + ": no checkpoint there")
        .with_hint("give a checkpoint folder, a run folder, RUN@step or RUN@latest");
  return std::vector<std::string>{std::move(path)};
}

/// True for a folder that was deleted during the check, which is not damage. A deletion begins with a rename, so a
/// folder that still has its name is not being deleted.
bool is_gone(Fs& fs, const std::string& path) { return fs.stat(path).status().code == Code::kNotFound; }

/// Whether the step can be read at all. A dead link or a missing right does not prove damage.
Status can_be_judged(Fs& fs, const std::string& path) {
  if (const Result<FileInfo> info = fs.stat(path); info.ok() && info->type == FileType::kLink)
    TITAN_RETURN_IF_ERROR(follow_step(fs, path).status());
  Status opened = fs.open_read(join_path(path, kManifestFile)).status();
  if (opened.code != Code::kFailed) return ok_status();
  return opened.error == EACCES ? std::move(opened).with_hint("make " + path + " readable for this user") : opened;
}

/// The command that repairs a damaged checkpoint or its parity files; "" if there is none.
std::string way_of_parity(Fs& fs, const std::string& path, const VerifyReport& report) {
  if (report.damage.empty() || report.not_named > 0) return "";
  const auto of_parity = [](const Damage& place) { return is_parity(place.file); };
  if (std::all_of(report.damage.begin(), report.damage.end(), of_parity) &&
      std::all_of(report.unreadable.begin(), report.unreadable.end(), of_parity))
    return "all else is whole: `titan-ckpt parity " + shell_word(path) + " --files P` makes parity files anew";
  if (!has_parity(fs, path)) return "";
  return "it has parity files: `titan-ckpt verify " + shell_word(path) +
         " --repair -o DST` makes a whole one where they suffice";
}

/// Verifies one step. Damage is part of the result, not an error.
Result<VerifiedStep> verify_step(Fs& fs, const std::string& path, bool of_a_run, const VerifyOptions& options) {
  VerifiedStep step;
  step.path = path;
  step.readable = can_be_judged(fs, path);
  if (!step.readable.ok()) return step;
  Result<VerifyReport> report = verify_checkpoint(fs, path, options.progress, options.cancel, options.threads);
  if (report.ok()) {
    step.report = std::move(report).value();
  } else if (report.status().code == Code::kNotFound) {
    step.report.damage.push_back({kManifestFile, "missing", "", 0, 0, 0, report.status().message});
  } else if (report.status().code == Code::kIncompatible || (of_a_run && report.status().error == EACCES)) {
    step.readable = report.status();
  } else {
    return report.status();
  }
  step.report.note = way_of_parity(fs, path, step.report);
  return step;
}

}  // namespace

void VerifySummary::add(VerifiedStep step) {
  leaves += step.report.leaves;
  bytes += step.report.bytes;
  // Units after the first 10,000 are not known by kind; they all count as damage if there is any damage.
  (step.report.damage.empty() ? unreadable_places : damage) += step.report.not_named;
  damage += step.report.damage.size();
  unreadable_places += step.report.unreadable.size();
  steps.push_back(std::move(step));
}

bool VerifySummary::ok() const {
  return damage == 0 && unreadable_places == 0 &&
         std::all_of(steps.begin(), steps.end(), [](const VerifiedStep& step) { return step.readable.ok(); });
}

Status VerifySummary::unreadable() const {
  if (damage > 0) return ok_status();
  for (const VerifiedStep& step : steps)
    if (!step.readable.ok()) return step.readable.wrapped(step.path + " cannot be checked");
  if (unreadable_places == 0) return ok_status();
  return media_error(counted(unreadable_places, "place") + " cannot be read, no damage is known")
      .with_hint(
          "the kernel's log (dmesg) and the store's own say more; a copy of the step on another disk, if there is one, "
          "may be whole");
}

Result<VerifySummary> verify_target(Fs& fs, const VerifyOptions& options) {
  VerifySummary summary;
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, targets(fs, options.target, &summary.is_run));
  for (const std::string& path : paths) {
    if (options.begin) options.begin(path);
    TITAN_ASSIGN_OR_RETURN(VerifiedStep step, verify_step(fs, path, summary.is_run, options));
    if ((!step.report.damage.empty() || !step.report.unreadable.empty()) && is_gone(fs, path)) {
      if (!summary.is_run) return not_found(path + " was deleted while it was checked");
      summary.deleted.push_back(path);
      continue;
    }
    summary.add(std::move(step));
  }
  if (summary.steps.empty()) return not_found(options.target + ": every step was deleted while they were checked");
  return summary;
}

}  // namespace titan::ckpt
