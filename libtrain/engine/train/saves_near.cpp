// The functions of Saves for a near folder (checkpoint.near): whether a save goes there, and its copy to the run
// folder.
#include <cerrno>
#include <chrono>

#include "ckpt/base/files.h"
#include "ckpt/save/writer.h"
#include "libtrain/engine/train/saves.h"
#include "libtrain/job/metrics/json_text.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/near_tier.h"

namespace titan::train {
namespace {

using ckpt::Status;

// How long copies that fail are retried at the end of a run. It is short, since a stopped run may be killed soon.
constexpr std::chrono::milliseconds kLastCopies{15'000};

}  // namespace

void Saves::tell_near(const SaveOutcome& outcome) {
  const SaveReport& report = *outcome.report;
  run_.root_objects.files->event(outcome.step, "save_near",
                                 {{"path", report.path},
                                  {"id", report.id.hex()},
                                  {"bytes", report.bytes},
                                  {"seconds", report.seconds},
                                  {"stall_s", outcome.times.stall}});
  log_info(step_text(outcome.step) + " is in checkpoint.near, and is copied to " + run_.checkpoint_dir + ": " +
           report.path + " id=" + report.id.hex() + " bytes=" + std::to_string(report.bytes) +
           " seconds=" + json_number(report.seconds));
  for (const std::string& warning : report.warnings) log_warn(warning);
  near_saves_.insert_or_assign(outcome.step, outcome);
  run_.root_objects.near->add(outcome.step);
}

void Saves::tell_copied() {
  if (!run_.root_objects.near) return;
  for (Drained& copied : run_.root_objects.near->take()) {
    SaveOutcome outcome{copied.step, SaveReport{}, {}, false};
    if (const auto found = near_saves_.find(copied.step); found != near_saves_.end()) outcome = found->second;
    near_saves_.erase(near_saves_.begin(), near_saves_.upper_bound(copied.step));
    SaveReport& report = *outcome.report;
    report.path = copied.published.path;
    report.id = copied.published.id;
    report.bytes = copied.published.bytes;
    report.seconds += copied.seconds;
    report.already_there = copied.published.already_there;
    report.read_whole = copied.published.read_whole;
    report.damaged_aside = copied.published.damaged_aside;
    report.warnings = copied.published.warnings;
    outcome.times.durable += copied.seconds;
    tell_durable(outcome);
  }
}

// The near folder holds at most three steps: one that is durable, one being copied, and one being written.
bool Saves::goes_near(const ckpt::Snapshot& snap, std::chrono::milliseconds patience) {
  if (!run_.root_objects.near || past_near_) return false;
  NearTier& near = *run_.root_objects.near;
  if (const Status late = near.wait(1, patience, std::chrono::milliseconds{0}); !late.ok()) {
    for (const std::uint64_t step : near.drop_older()) {
      const std::string text = step_text(step) + " is given up, for " + step_text(snap.train.step) +
                               " takes its place in " + near.folder() + "; copies to " + run_.checkpoint_dir +
                               " are late: " + log_text(late);
      log_warn(text);
      run_.root_objects.files->event(step, "save_failed", {{"error", text}});
      near_saves_.erase(step);
    }
  }
  const auto fits = [&]() -> Status {
    TITAN_RETURN_IF_ERROR(ckpt::make_dirs(run_.fs, near.folder()));  // the folder may have been deleted
    return ckpt::check_space(run_.fs, near.folder(), snap);
  };
  Status why = fits();
  if (why.error == ENOSPC) {
    near.make_room();
    why = fits();
  }
  if (why.error == ENOSPC && near.wait(0, patience, std::chrono::milliseconds{0}).ok()) {
    near.make_room();
    why = fits();
  }
  tell_copied();
  if (why.ok()) return true;
  log_warn(step_text(snap.train.step) + " is saved in " + run_.checkpoint_dir + " itself: " + log_text(why));
  return false;
}

Status Saves::await_copies() {
  if (run_.near_folder.empty()) return ckpt::ok_status();
  Status status;
  if (run_.root_objects.near) {
    status = run_.root_objects.near->wait(0, run_.store_patience(), kLastCopies);
    tell_copied();
    if (status.ok() && durable_ < newest_)
      status = ckpt::failed(step_text(newest_) + " was lost in " + run_.near_folder + " before it was copied to " +
                            run_.checkpoint_dir);
  }
  return agree(*run_.world.io, status);
}

void Saves::await_durable(std::uint64_t step) {
  const Status status = await_copies();
  if (status.ok()) return;
  if (step != newest_ || run_.progress.step != newest_)
    throw StatusError(status.wrapped(step_text(newest_) + " could not be copied to " + run_.checkpoint_dir)
                          .with_hint("it is in " + run_.near_folder + ": the same command resumes from there"));
  if (run_.root())
    log_warn(log_text(status) + "; saving " + step_text(step) + " in " + run_.checkpoint_dir + " itself");
  past_near_ = true;
  handle_as_fatal(save_here(step));
}

}  // namespace titan::train
