#include "libtrain/engine/train/saves.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "ckpt/read/ema.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/save/writer.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/job/host/staging_room.h"
#include "libtrain/job/launch/library_error.h"
#include "libtrain/job/metrics/json_text.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/step_clock.h"
#include "recipe/keys/writer.h"

namespace titan::train {
namespace {

using ckpt::Status;
using Clock = std::chrono::steady_clock;

// Pauses between attempts of the last save of a run, 15 s in all. A stopped run may be killed soon, usually after 30 s.
constexpr int kPauses[] = {1, 2, 4, 8};  // seconds

// Maximum time that a save waits for metrics lines to become durable if checkpoint.on_save_error is "continue". After a
// failure, later saves do not wait until lines are accepted again.
constexpr std::chrono::milliseconds kLines{5'000};

/// Logs a line about a save, unless the watcher displays saves itself.
void log_save(const RunWatcher& watcher, const std::string& line) {
  if (watcher.shows_saves()) {
    log_debug(line);
  } else {
    log_info(line);
  }
}

/// Number of leaves that this rank saves: of weights and of both moments.
std::uint64_t leaves_of(const ShardedAdamW& optimizer) {
  std::uint64_t count = 0;
  for (const ShardedAdamW::State& state : optimizer.states()) count += 3 * state.piece.leaves.count;
  return count;
}

std::function<void(const std::string&)> says_where(const RunWatcher& watcher, std::uint64_t step) {
  return [&watcher, step](const std::string& tmp) {
    log_save(watcher, "save writing step=" + std::to_string(step) + " into " + tmp);
  };
}

}  // namespace

std::string step_text(std::uint64_t step) { return "step " + std::to_string(step); }

ckpt::ReadBack read_back_of(const std::string& word) {
  if (word == "off") return ckpt::ReadBack::kOff;
  return word == "all" ? ckpt::ReadBack::kAll : ckpt::ReadBack::kSampled;
}

void Saves::begin() {
  newest_ = run_.start.decision.step;
  durable_ = run_.start.decision.durable ? newest_ : 0;
  if (run_.start.decision.mode == StartMode::kResume)
    saved_ =
        SavedPoint{run_.progress, run_.start.decision.path, run_.start.id, !run_.start.continuation.fresh_optimizer};
  const auto& keys = run_.config().checkpoint;
  schedule_.emplace(keys.interval, keys.enable_first_step_checkpoint, keys.mtbf_seconds, now_s());
  if (!run_.world.save) return;
  BackgroundSaver::Options options;
  options.group = run_.world.save.get();
  options.leaf_bytes = run_.plan().leaf_elements * sizeof(float);
  options.stages_ahead = !device().place().is_cpu();
  options.staging_bytes = staging_room(static_cast<std::uint64_t>(keys.staging_bytes),
                                       leaves_of(*run_.engine.optimizer) * options.leaf_bytes, options.stages_ahead,
                                       free_memory(), static_cast<std::uint64_t>(run_.options.env.local_world));
  options.threads = static_cast<unsigned>(at::get_num_threads());
  background_ = std::make_unique<BackgroundSaver>(*run_.engine.checkpointer, options);
}

double Saves::now_s() const { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

bool Saves::time_is_up() {
  if (!schedule_) return false;
  tell_copied();
  if (schedule_->time_is_up(now_s())) return true;
  // A save in progress will show whether the storage accepts files.
  if ((background_ && background_->busy()) || !schedule_->may_be_early(now_s())) return false;
  if (answer_ && *answer_ == StoreAnswer::kYes) return true;
  // Each query is a job in the queue of the thread that writes files, so it is repeated only after an answer.
  if (!answer_ || *answer_ == StoreAnswer::kNo)
    answer_ = run_.root_objects.files->ask_store(run_.checkpoint_dir, needed_);
  return false;
}

ckpt::Snapshot Saves::snapshot(std::uint64_t step) {
  under_way_ = SavedPoint{run_.progress, ckpt::join_path(run_.checkpoint_dir, ckpt::step_name(step))};
  ckpt::Snapshot snap;
  snap.parameters = run_.plan().parameters;
  snap.mesh = run_.plan().mesh;
  snap.stage_cuts = run_.plan().stage_cuts;
  snap.leaf_elements = run_.plan().leaf_elements;
  snap.ownership = run_.engine.owners;
  snap.makers = run_.engine.makers;
  snap.codec = run_.plan().codec;
  snap.prove = run_.config().checkpoint.verify_compression;
  snap.read_back = read_back_of(run_.config().checkpoint.verify_after_write);
  if (run_.plan().ema) snap.slots.emplace_back(ckpt::kEma);
  snap.parity = static_cast<std::uint32_t>(run_.config().checkpoint.parity);
  snap.optimizer_step = run_.progress.optimizer_step;
  snap.lr = run_.start.lr;
  snap.data = run_.progress.data;
  snap.train = run_.state;
  snap.train.step = step;
  snap.train.tokens = run_.progress.tokens;
  snap.train.wall_time_s += seconds_since(run_.attempt_start);
  snap.train.attempts.back().last_step = step;
  snap.config = recipe::resolved_settings(run_.resolved);
  snap.writer = run_.options.version;
  snap.created = utc_now();
  snap.model_files = run_.model_files;
  return snap;
}

Status Saves::announce(const ckpt::Snapshot& snap) {
  const std::uint64_t step = snap.train.step;
  schedule_->begun(now_s());
  const auto on_root = [&]() -> Status {
    TITAN_RETURN_IF_ERROR(run_.root_objects.files->still_ours());
    log_save(*run_.options.watcher, "save begin step=" + std::to_string(step));
    run_.options.watcher->saving(step);
    run_.root_objects.files->event(step, "save_begin", {});
    needed_ = ckpt::space_for_save(snap);
    // The deletion of an old step, started by the previous save, may still be in progress.
    const auto begin = Clock::now();
    const auto patience = run_.store_patience();
    const bool near = goes_near(snap, patience / 2);
    run_.engine.checkpointer->save_into(near ? run_.near_folder : run_.checkpoint_dir);
    if (run_.root_objects.near && run_.config().checkpoint.on_save_error == "stop")
      TITAN_RETURN_IF_ERROR(run_.root_objects.near->refused());
    if (!near && !ckpt::check_space(run_.fs, run_.checkpoint_dir, snap).ok())
      run_.root_objects.retention->finish([&] { return Clock::now() - begin >= patience / 2; });
    return sync_lines(std::chrono::duration_cast<std::chrono::milliseconds>(patience - (Clock::now() - begin)));
  };
  const Status status = agree(*run_.world.io, run_.root() ? on_root() : ckpt::ok_status());
  if (!status.store_refused()) check(status);
  return status;
}

// Metrics lines are made durable before the checkpoint. So a published step lacks its lines only if storage refused
// them.
Status Saves::sync_lines(std::chrono::milliseconds patience) {
  if (run_.config().checkpoint.on_save_error == "stop") return run_.root_objects.files->sync(patience);
  const std::chrono::milliseconds wait = lines_late_ ? std::chrono::milliseconds{0} : kLines;
  const Status lines = run_.root_objects.files->sync(std::min(patience, wait));
  if (!lines.ok() && !lines_late_)
    log_warn("a checkpoint is saved without the newest lines of metrics.jsonl, which wait in memory: " +
             log_text(lines));
  lines_late_ = !lines.ok();
  return ckpt::ok_status();
}

SaveOutcome Saves::save_here(std::uint64_t step) {
  const auto due = Clock::now();
  const ckpt::Snapshot snap = snapshot(step);
  const double taken_down = seconds_since(due);
  if (const Status announced = announce(snap); !announced.ok()) return agreed({step, announced, {}, true});
  auto report = run_.engine.checkpointer->save(snap, *run_.engine.optimizer, says_where(*run_.options.watcher, step));
  const double all = seconds_since(due);
  return agreed({step, std::move(report), {taken_down, all, all}, true});
}

void Saves::now(std::uint64_t step, bool last_chance) {
  if (finish()) return;
  SaveOutcome outcome = save_here(step);
  if (!last_chance) return handle(outcome);
  for (const int pause : kPauses) {
    if (!worth_another(outcome)) break;
    tell_failure(outcome,
                 "trying " + step_text(step) + " once more in " + std::to_string(pause) + " s: there is no later save");
    std::this_thread::sleep_for(std::chrono::seconds(pause));
    outcome = save_here(step);
  }
  handle_as_fatal(outcome);
}

void Saves::last(std::uint64_t step) {
  if (std::optional<SaveOutcome> outcome = take()) {
    if (ends_run(*outcome))
      tell_failure(*outcome, "saving " + step_text(step) + " in its place");
    else
      handle(*outcome);
  }
  if (step > newest_) now(step, true);
  await_durable(step);
}

void Saves::due(std::uint64_t step) {
  if (!background_) return now(step, false);
  const auto due = Clock::now();
  if (finish()) return;
  ckpt::Snapshot snap = snapshot(step);
  if (const Status announced = announce(snap); !announced.ok()) return handle(agreed({step, announced, {}, true}));
  background_->start(std::move(snap), *run_.engine.optimizer, due, says_where(*run_.options.watcher, step));
}

void Saves::before_update() {
  if (!background_ || !background_->busy()) return;
  background_->before_update();
  run_.world.io->barrier();
}

void Saves::over_everywhere() { (void)finish(); }

std::optional<SaveOutcome> Saves::take() {
  return background_ && background_->busy() ? std::optional(agreed(background_->take())) : std::nullopt;
}

bool Saves::finish() {
  const std::optional<SaveOutcome> outcome = take();
  if (!outcome) return false;
  const bool rescued = ends_run(*outcome) && rescue(*outcome);
  handle(*outcome);
  if (rescued) schedule_->succeeded();
  return rescued;
}

// Saves the present state, not that of the failed save: it is newer, and valid too.
bool Saves::rescue(const SaveOutcome& failed) {
  const std::uint64_t step = run_.progress.step;
  if (run_.root())
    log_warn(log_text(failed.report.status().wrapped(step_text(failed.step) + " could not be saved")) + "; saving " +
             step_text(step) + " in its place");
  try {
    const SaveOutcome outcome = save_here(step);
    if (outcome.report.ok()) {
      log_outcome(outcome);
      return true;
    }
    if (run_.root())
      log_warn(log_text(outcome.report.status().wrapped(step_text(step) + " could not be saved either")));
  } catch (const StatusError& error) {
    if (run_.root()) log_warn(log_text(error.status.wrapped(step_text(step) + " could not be saved either")));
  }
  return false;
}

void Saves::wait_ignoring_errors() {
  try {
    if (const std::optional<SaveOutcome> outcome = take()) handle(*outcome);
    if (const Status copied = await_copies(); !copied.ok() && run_.root()) log_warn(log_text(copied));
  } catch (const std::exception& error) {
    log_warn(std::string("the save under way has failed: ") + without_stack(error.what()));
  }
}

// All ranks have the same outcome, and decide the same.
bool Saves::worth_another(const SaveOutcome& outcome) const {
  return run_.config().checkpoint.on_save_error == "continue" && outcome.report.status().store_refused();
}

SaveOutcome Saves::agreed(SaveOutcome outcome) {
  if (worth_another(outcome))
    outcome.counts = first_rank(*run_.world.io, run_.root() && schedule_->counts(outcome.step, now_s())).has_value();
  return outcome;
}

std::int64_t Saves::failures_with(const SaveOutcome& outcome) const {
  return schedule_->failures_in_a_row() + (outcome.counts ? 1 : 0);
}

bool Saves::ends_run(const SaveOutcome& outcome) const {
  return !outcome.report.ok() &&
         (!worth_another(outcome) || failures_with(outcome) >= run_.config().checkpoint.max_save_failures);
}

void Saves::handle(const SaveOutcome& outcome) {
  schedule_->over(outcome.times.stall);
  if (outcome.report.ok() || ends_run(outcome)) return handle_as_fatal(outcome);
  tell_failure(outcome, "training continues without " + step_text(outcome.step) + ": " +
                            std::to_string(failures_with(outcome)) + " of " +
                            std::to_string(run_.config().checkpoint.max_save_failures) +
                            " failures in a row that end the run (checkpoint.max_save_failures); " + safe_text());
}

void Saves::handle_as_fatal(const SaveOutcome& outcome) {
  if (outcome.report.ok()) return log_outcome(outcome);
  Status status = outcome.report.status().wrapped(step_text(outcome.step) + " could not be saved");
  if (const std::int64_t before = schedule_->tries_in_a_row(); before > 0)
    status.causes.push_back(std::to_string(before + 1) +
                            " tries in a row have failed (checkpoint.max_save_failures = " +
                            std::to_string(run_.config().checkpoint.max_save_failures) + ")");
  status.hint = safe_text() + (status.hint.empty() ? "" : "; " + status.hint);
  throw StatusError(status);
}

std::string Saves::safe_text() const {
  if (newest_ == 0) return "nothing is saved yet";
  return "your work is safe up to " + step_text(newest_) +
         (run_.near_folder.empty() ? "" : ", and steps that are not copied yet are in " + run_.near_folder);
}

void Saves::tell_failure(const SaveOutcome& outcome, const std::string& then) {
  schedule_->failed(outcome.counts, now_s());
  answer_.reset();
  if (!run_.root()) return;
  const std::string text = log_text(outcome.report.status().wrapped(step_text(outcome.step) + " could not be saved"));
  log_error(text);
  log_warn(then);
  run_.options.watcher->not_saved(outcome.step);
  run_.root_objects.files->event(outcome.step, "save_failed", {{"error", text}});
}

void Saves::log_outcome(const SaveOutcome& outcome) {
  newest_ = outcome.step;
  saved_ = under_way_;
  saved_->id = outcome.report->id;
  schedule_->succeeded();
  if (!run_.root()) return;
  saved_->path = outcome.report->path;
  if (run_.root_objects.near && ckpt::parent_path(outcome.report->path) == run_.near_folder) return tell_near(outcome);
  tell_durable(outcome);
}

void Saves::tell_durable(const SaveOutcome& outcome) {
  durable_ = std::max(durable_, outcome.step);
  const SaveReport& report = *outcome.report;
  const SaveTimes& times = outcome.times;
  const double speed = report.seconds > 0 ? static_cast<double>(report.bytes) / report.seconds / 1e9 : 0;
  const SaveMetrics values{.step = outcome.step,
                           .bytes = report.bytes,
                           .seconds = report.seconds,
                           .snapshot_s = times.snapshot,
                           .stall_s = times.stall,
                           .write_s = report.write_seconds,
                           .publish_s = report.publish_seconds,
                           .durable_s = times.durable,
                           .gb_per_s = speed};
  run_.root_objects.files->saved(values, {{"path", report.path}, {"id", report.id.hex()}});
  std::string cost;
  if (const auto seconds = schedule_->chosen_seconds()) cost = " interval_s=" + json_number(*seconds);
  if (!outcome.waited_for)
    cost += " stall=" + json_number(times.stall) + " durable_after=" + json_number(times.durable);
  run_.options.watcher->saved(outcome.step, report.path, report.bytes, report.seconds);
  log_save(*run_.options.watcher, step_text(outcome.step) + " saved: " + report.path + " id=" + report.id.hex() +
                                      " bytes=" + std::to_string(report.bytes) +
                                      " seconds=" + json_number(report.seconds) + cost +
                                      (report.already_there ? " (an equal step was there already)" : ""));
  if (!report.damaged_aside.empty()) {
    const bool pinned = ckpt::is_pinned(run_.fs, report.damaged_aside);
    log_warn("the damaged " + step_text(outcome.step) + " lies in " + report.damaged_aside + " now; " +
             (pinned ? "its .keep protects it" : "`titan-ckpt prune --damaged` frees it"));
  }
  for (const std::string& warning : report.warnings) log_warn(warning);
  if (!run_.root_objects.near && run_.fs.refused_uncached() && !std::exchange(told_of_cache_, true))
    log_info("the store of " + run_.checkpoint_dir +
             " refuses writes past the page cache (O_DIRECT): saves go through it");
  run_.root_objects.retention->saved(outcome.step, report.id, report.read_whole);
  if (run_.root_objects.hook)
    run_.root_objects.hook->published({outcome.step, std::filesystem::absolute(report.path).string(), report.id});
}

}  // namespace titan::train
