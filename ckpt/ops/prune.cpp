#include "ckpt/ops/prune.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/signature_file.h"
#include "ckpt/lock/run_guard.h"
#include "ckpt/ops/links.h"
#include "ckpt/ops/thin.h"
#include "ckpt/read/ema.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/own_files.h"
#include "ckpt/run/recover.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {

namespace {

std::string kept_by(const RunScan& scan, const PruneRules& rules, const StepEntry& entry, std::uint64_t newer_full) {
  if (!entry.validity.ok()) return "invalid, never deleted: " + entry.validity.message;
  if (!entry.full) return "not a full checkpoint, never deleted";
  if (entry.pinned) return "pinned by .keep";
  if (std::find(rules.keep.begin(), rules.keep.end(), entry.step) != rules.keep.end()) return "asked for by --keep";
  if (entry.step == 0) return "the start of the run";
  if (!rules.deletes()) return rules.thin > 0 ? "no rule deletes it" : "no rule was given";
  if (newer_full < rules.keep_last)
    return rules.keep_last == 1 ? "the last one" : "one of the last " + std::to_string(rules.keep_last);
  if (rules.keep_every > 0 && entry.step % rules.keep_every == 0)
    return "every " + std::to_string(rules.keep_every) + " steps";
  if (newer_full == 0) return "the newest full checkpoint";
  if (retention_must_wait(scan)) return "the newest step is invalid: nothing is deleted before a save succeeds";
  return "";
}

Status check_asked(const RunScan& scan, const std::string& folder, const std::vector<std::uint64_t>& keep) {
  for (const std::uint64_t step : keep) {
    if (std::any_of(scan.steps.begin(), scan.steps.end(), [&](const StepEntry& entry) { return entry.step == step; }))
      continue;
    return not_found(folder + " has no step " + std::to_string(step) + ", which --keep names")
        .with_hint("`titan-ckpt ls` shows the steps there are");
  }
  return ok_status();
}

bool is_whole(const StepEntry& entry) { return entry.validity.ok() && entry.full; }

bool any_changes(const std::vector<PruneVerdict>& verdicts) {
  return std::ranges::any_of(verdicts, [](const PruneVerdict& verdict) { return verdict.goes || verdict.thins; });
}

bool may_thin(const RunScan& scan, const PruneRules& rules, const StepEntry& entry, std::uint64_t newer_full) {
  if (rules.thin == 0 || newer_full < rules.thin || retention_must_wait(scan)) return false;
  const bool asked = std::find(rules.keep.begin(), rules.keep.end(), entry.step) != rules.keep.end();
  return is_whole(entry) && !entry.pinned && !entry.linked && !entry.moved_aside && entry.step != 0 && !asked &&
         entry.manifest && has_model(*entry.manifest);
}

/// The error that says why nothing is deleted while the newest step is invalid.
Status waiting_for(const StepEntry& newest) {
  const bool damaged = newest.validity.code == Code::kCorrupt || newest.validity.code == Code::kNotFound;
  Status status = newest.validity.wrapped(std::string("nothing is deleted: the newest step ") +
                                          (damaged ? "is invalid" : "cannot be judged"));
  if (newest.validity.code == Code::kIncompatible)
    return status.with_hint("use a version of titan-ckpt that reads " + newest.path);
  if (!damaged)
    return newest.validity.hint.empty() ? status.with_hint("make " + newest.path + " readable, or move it away")
                                        : status;
  status.code = Code::kCorrupt;  // a step without a manifest is damage too
  return status.with_hint("let the run save once, or move " + newest.path + " away");
}

/// The error if no full step is undamaged. Most parts of a damaged step are usually undamaged, so it is deleted only if
/// a better step exists.
Status nothing_whole(const std::string& folder) {
  return corrupt("nothing is deleted: " + folder +
                 " has no whole step, and a damaged one may be all that is left of the run")
      .with_hint("`titan-ckpt verify` shows what is damaged in each; delete by hand those that you do not need");
}

class Prune {
 public:
  Prune(Fs& fs, const PruneOptions& options) : fs_(fs), options_(options) {}

  Result<PruneReport> run() {
    TITAN_ASSIGN_OR_RETURN(report_.folder, resolve_run(fs_, options_.run));
    report_.dry_run = options_.dry_run;
    if (!options_.dry_run) {
      TITAN_ASSIGN_OR_RETURN(guard_, RunGuard::take(fs_, report_.folder, true));
      // Before the plan, because a step that a dead tool moved aside also counts.
      const std::vector<std::string> problems = put_back_all(fs_, report_.folder, &report_.restored);
      if (!problems.empty()) return failed("nothing is deleted: " + problems.front());
    }
    TITAN_ASSIGN_OR_RETURN(scan_, scan_run(fs_, report_.folder));
    for (const StepEntry& entry : scan_.steps)
      if (entry.moved_aside && options_.dry_run)
        report_.restored.push_back(join_path(report_.folder, step_name(entry.step)));
    TITAN_RETURN_IF_ERROR(check_asked(scan_, report_.folder, options_.rules.keep));
    TITAN_RETURN_IF_ERROR(decide());
    describe();
    if (!options_.dry_run && report_.blocked.ok()) TITAN_RETURN_IF_ERROR(carry_out());
    return std::move(report_);
  }

 private:
  /// Makes the plan. Before anything is deleted, the newest full step must be verified. If it is damaged, it counts as
  /// invalid, and the plan is made again.
  Status decide() {
    while (true) {
      verdicts_ = plan_prune(scan_, options_.rules);
      if (retention_must_wait(scan_) && !options_.rules.empty()) report_.blocked = waiting_for(scan_.steps.front());
      const bool no_full_left = damaged_ > 0 && std::none_of(scan_.steps.begin(), scan_.steps.end(), is_whole);
      if (no_full_left && report_.blocked.ok())
        report_.blocked = corrupt("nothing is deleted: every full checkpoint in " + report_.folder + " is damaged")
                              .with_hint("`titan-ckpt verify " + shell_word(report_.folder) + "` names the places");
      if (!any_changes(verdicts_) && !frees_damaged()) return ok_status();
      const auto newest = std::find_if(scan_.steps.begin(), scan_.steps.end(), is_whole);
      if (newest == scan_.steps.end()) {
        if (report_.blocked.ok()) report_.blocked = nothing_whole(report_.folder);
        return ok_status();
      }
      TITAN_ASSIGN_OR_RETURN(const bool whole, verify(*newest));
      if (!whole) continue;
      report_.verified = newest->step;
      return ok_status();
    }
  }

  bool frees_damaged() const { return options_.damaged && !scan_.damaged.empty(); }

  Result<bool> verify(StepEntry& entry) {
    if (options_.begin) options_.begin(entry.path);
    Uncached store(fs_);  // the page cache may hold bytes that are no longer on the disk
    TITAN_ASSIGN_OR_RETURN(const VerifyReport found,
                           verify_checkpoint(store, entry.path, options_.progress, options_.cancel));
    if (found.damage.empty() && found.unreadable.empty()) {
      const Status same = check_id(entry.path, found.id, entry.manifest->id);
      if (!same.ok()) return same.wrapped("nothing is deleted");
      return true;
    }
    // Whether a step that cannot be read is damaged is unknown. So no older step may be deleted.
    if (found.damage.empty())
      return media_error("nothing is deleted: the newest full step " + entry.path + " cannot be read in " +
                         std::to_string(found.unreadable.size()) + " places, the first in " + found.unreadable[0].file +
                         ": " + found.unreadable[0].detail)
          .with_hint("`titan-ckpt verify " + shell_word(entry.path) + "` names them all");
    ++damaged_;
    entry.validity = corrupt(entry.path + " is damaged in " + counted(found.damage.size(), "place"))
                         .with_hint("`titan-ckpt verify " + shell_word(entry.path) + "` names them");
    return false;
  }

  /// A step whose folder has files of users is not thinned.
  void leave_with_files(const StepEntry& entry, PruneVerdict& verdict) {
    const Result<std::string> file = foreign_file(fs_, entry.path, *entry.manifest);
    if (file.ok() && file->empty()) return;
    verdict.thins = false;
    verdict.why = "not thinned: it also holds " +
                  (file.ok() ? "'" + *file + "'" : "what cannot be listed (" + file.status().message + ")");
  }

  /// What is deleted with the folder `path`: all files but those of users, whose paths go into `stay`.
  Links lost_with(const std::string& path, std::vector<std::string>& stay) {
    Links lost, users;
    lost.add(fs_, path);
    auto files = files_of_users(fs_, path);
    if (files.ok()) stay = std::move(*files);
    for (const std::string& file : stay) users.add(fs_, join_path(path, file));
    lost.remove(users);
    return lost;
  }

  void describe() {
    Links all;
    for (std::size_t i = 0; i < scan_.steps.size(); ++i) {
      const StepEntry& entry = scan_.steps[i];
      if (verdicts_[i].thins) leave_with_files(entry, verdicts_[i]);
      // Of a link, only the name is removed.
      Links own;
      if (entry.link.empty()) own.add(fs_, entry.path);
      Links lost;
      std::vector<std::string> stay;
      if (entry.link.empty() && verdicts_[i].goes) lost = lost_with(entry.path, stay);
      if (verdicts_[i].thins)
        for (const std::string& member : thinned_members(*entry.manifest)) lost.add(fs_, join_path(entry.path, member));
      all.add(lost);
      std::string why = verdicts_[i].why;
      if (verdicts_[i].thins && has_ema(*entry.manifest)) why += "; its average goes";
      if (verdicts_[i].thins && parity_rows(*entry.manifest) > 0) why += "; its parity files go, too";
      if (verdicts_[i].thins && fs_.stat(join_path(entry.path, kSignatureFile)).ok()) why += "; its signature goes";
      if (report_.verified == entry.step) why += why.empty() ? "verified" : "; verified";
      report_.steps.push_back({entry.step, entry.path, entry.validity.ok(), verdicts_[i].goes, false, std::move(why),
                               own.bytes(), lost.bytes(), verdicts_[i].thins, false, std::move(stay)});
    }
    for (const std::string& name : scan_.damaged) {
      const std::string path = join_path(report_.folder, name);
      PrunedDamage damage{name};
      Links own;
      const Result<FileInfo> info = fs_.stat(path);
      const bool link = info.ok() && info->type == FileType::kLink;
      if (!link) own.add(fs_, path);
      damage.bytes = own.bytes();
      if (is_pinned(fs_, path))
        damage.why = "pinned by .keep";
      else if (!options_.damaged)
        damage.why = "damaged; --damaged frees it";
      else if (!report_.blocked.ok())
        damage.why = "nothing is deleted now";
      damage.goes = damage.why.empty();
      if (damage.goes && !link) all.add(lost_with(path, damage.stay));
      report_.damaged.push_back(std::move(damage));
    }
    if (report_.blocked.ok()) report_.leftovers = scan_.leftovers;
    for (const std::string& name : report_.leftovers) all.add(fs_, join_path(report_.folder, name));
    report_.bytes_gone = all.bytes();
    report_.bytes_freed = all.freed();
  }

  /// Called right before each deletion, because deletions take long. Checks that this process still has the lock of the
  /// folder, and that the verified step still exists.
  Status may_delete() const {
    TITAN_RETURN_IF_ERROR(options_.cancel.check());
    TITAN_RETURN_IF_ERROR(guard_.still_ours());
    if (!report_.verified) return ok_status();
    const Status same = still_as_planned(*report_.verified);
    return same.ok() ? same : same.wrapped("nothing more is deleted");
  }

  /// Checks for new pins, because reading the newest step takes long, and so may each deletion.
  template <typename Verdict>
  bool pinned_meanwhile(const std::string& path, Verdict& verdict, std::uint64_t bytes) {
    if (!is_pinned(fs_, path)) return false;
    verdict.goes = false;
    verdict.why = "pinned by .keep meanwhile";
    report_.bytes_gone -= bytes;
    report_.bytes_freed -= std::min(report_.bytes_freed, bytes);
    return true;
  }

  /// Checks that `step` is still the checkpoint of the plan, because reading the newest step takes long. The path alone
  /// does not prove its identity.
  Status still_as_planned(std::uint64_t step) const {
    const auto entry = std::ranges::find(scan_.steps, step, &StepEntry::step);
    return check_id_at(fs_, entry->path, entry->manifest->id);
  }

  static std::string trash_id() { return "prune" + std::to_string(::getpid()); }

  Status carry_out() {
    TITAN_RETURN_IF_ERROR(may_delete());
    // The name of a step that stays must be durable first: the process that published it may have died between rename
    // and sync.
    if (any_changes(verdicts_)) TITAN_RETURN_IF_ERROR(fs_.sync_dir(report_.folder));
    // Before the deletions, so that no trash of a dead process has a name that they need.
    report_.failures = recover_folder(fs_, report_.folder);
    TITAN_RETURN_IF_ERROR(options_.cancel.check());
    for (PrunedDamage& damage : report_.damaged) {
      if (!damage.goes || pinned_meanwhile(join_path(report_.folder, damage.name), damage, damage.bytes)) continue;
      TITAN_RETURN_IF_ERROR(may_delete());
      const Status status = delete_damaged(fs_, report_.folder, damage.name, trash_id(), options_.cancel, &damage.kept);
      TITAN_RETURN_IF_ERROR(settle(status, "delete " + join_path(report_.folder, damage.name), damage.deleted));
    }
    for (auto step = report_.steps.rbegin(); step != report_.steps.rend(); ++step) {
      if (!step->goes && !step->thins) continue;
      if (pinned_meanwhile(step->path, *step, step->loses)) {
        step->thins = false;
        continue;
      }
      TITAN_RETURN_IF_ERROR(may_delete());
      TITAN_RETURN_IF_ERROR(step->goes ? delete_one(*step) : thin_one(*step));
    }
    return ok_status();
  }

  // A failure goes into the report; only a stop ends the work.
  Status settle(const Status& status, const std::string& what, bool& done) {
    if (!status.ok()) TITAN_RETURN_IF_ERROR(options_.cancel.check());
    done = status.ok();
    if (!status.ok()) report_.failures.push_back("cannot " + what + ": " + status.message);
    return ok_status();
  }

  Status delete_one(PrunedStep& step) {
    Status status = still_as_planned(step.step);
    if (status.ok())
      status = delete_step(fs_, report_.folder, step_name(step.step), trash_id(), options_.cancel, &step.kept);
    return settle(status, "delete " + step.path, step.deleted);
  }

  Status thin_one(PrunedStep& step) {
    Status status = still_as_planned(step.step);
    if (status.ok()) status = thin_step(fs_, step.path, {options_.writer, options_.created, options_.cancel});
    return settle(status, "thin " + step.path, step.thinned);
  }

  Fs& fs_;
  const PruneOptions& options_;
  RunGuard guard_;
  RunScan scan_;
  std::vector<PruneVerdict> verdicts_;
  std::uint64_t damaged_ = 0;  // steps that looked valid and are damaged
  PruneReport report_;
};

}  // namespace

std::vector<PruneVerdict> plan_prune(const RunScan& scan, const PruneRules& rules) {
  std::vector<PruneVerdict> verdicts;
  std::uint64_t newer_full = 0;
  for (const StepEntry& entry : scan.steps) {
    std::string why = kept_by(scan, rules, entry, newer_full);
    const bool goes = why.empty();
    const bool thins = !goes && may_thin(scan, rules, entry, newer_full);
    verdicts.push_back(
        {goes, thins ? "keeps its model: older than the last " + std::to_string(rules.thin) : std::move(why), thins});
    if (is_whole(entry)) ++newer_full;
  }
  return verdicts;
}

Result<PruneReport> prune_run(Fs& fs, const PruneOptions& options) { return Prune(fs, options).run(); }

}  // namespace titan::ckpt
