#pragma once
// The saves of a run: synchronous between two steps, or in the background while training continues.
//
// With checkpoint.near, a save goes to the near folder first and is copied to the run folder later. A save is durable
// when it is in the run folder.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ckpt/read/snapshot.h"
#include "libtrain/engine/checkpoint/background_saver.h"
#include "libtrain/engine/train/run_state.h"
#include "libtrain/job/run/save_schedule.h"

namespace titan::train {

/// The ReadBack for a value of checkpoint.verify_after_write: "off", "sampled" or "all".
ckpt::ReadBack read_back_of(const std::string& word);

/// "step 40", for messages.
std::string step_text(std::uint64_t step);

/// The newest checkpoint of the run, to which training can return, and the run's position at that checkpoint.
struct SavedPoint {
  Progress progress;
  std::string path;
  ckpt::Digest id = {};  ///< only on rank 0, which compares it with the checkpoint at `path` before a load
  bool moments = true;   ///< whether Adam's moments are loaded from the checkpoint; else they are set to zero
};

/// Decides after each step whether to save and where, and saves. It has many members because one decision uses them
/// all: the schedule, the save in progress, the near folder, earlier failures.
class Saves {
 public:
  explicit Saves(RunState& run) : run_(run) {}

  /// Call this once the run has started. Needs World::save if checkpoint.async_mode asks for saves in the background.
  void begin();

  /// Saves `step` and returns when the save is complete. Finishes a background save first. `last_chance`: the run ends
  /// after this save; if the storage refuses it and checkpoint.on_save_error is "continue", it is tried again for about
  /// 15 s. Collective. \error StatusError, the same on all ranks
  void now(std::uint64_t step, bool last_chance);
  /// Saves `step`, the last one of the run, unless it is already saved, and returns when it is durable. If a background
  /// save of an older step fails meanwhile, that is no error. Collective. \error as now()
  void last(std::uint64_t step);
  /// Saves `step`, in the background if configured, else as now(). Waits for a save in progress. Collective. \error as
  /// now()
  void due(std::uint64_t step);

  /// Rank 0 only; all ranks get the result with the step's flags (StepRow). True if a time interval between saves has
  /// passed, or if the last save failed and the storage accepts files again.
  bool time_is_up();
  /// Whether to save `step`. `time_is_up` is the result of time_is_up() on rank 0. The same on all ranks.
  bool is_due(std::uint64_t step, bool time_is_up) const {
    return schedule_->due(step, time_is_up, background_ && background_->busy());
  }
  /// Whether this rank's part of a background save is done. The other ranks get the result with the step's flags.
  bool over_here() const { return background_ && background_->busy() && background_->done(); }
  /// Call it when the background save is done on every rank. \error as now()
  void over_everywhere();
  /// Call it before weights and moments change. Returns when a background save no longer needs the old values. During a
  /// save the call is collective: all ranks wait for the slowest rank, with the timeout of checkpoint I/O. (If they
  /// did not wait here, they would wait for it in the next transfer, with the timeout of a step.)
  void before_update();
  /// Waits for a background save. Collective. \error as now()
  void wait() { (void)finish(); }
  /// For a run that ends with an error known to all ranks: finishes a background save, and only logs its errors.
  void wait_ignoring_errors();

  /// The newest step that this run has saved or started from.
  std::uint64_t newest() const { return newest_; }
  /// The newest checkpoint to return to; nullopt if nothing is saved.
  std::optional<SavedPoint>& saved() { return saved_; }

 private:
  double now_s() const;
  ckpt::Snapshot snapshot(std::uint64_t step);
  /// Prepares a save: chooses its folder, waits for deletions if space is short, and makes metrics lines up to its step
  /// durable. Collective. Returns, on all ranks, an error of the storage; \error as now() for other errors
  ckpt::Status announce(const ckpt::Snapshot& snap);
  /// Rank 0: makes metrics lines durable, as announce() needs. If checkpoint.on_save_error is "continue", an error here
  /// does not prevent the save: it is only logged.
  ckpt::Status sync_lines(std::chrono::milliseconds patience);
  /// Saves `step` in this thread.
  SaveOutcome save_here(std::uint64_t step);
  /// Waits for a background save and returns its outcome, which is not reported yet. nullopt if no save is in progress.
  std::optional<SaveOutcome> take();
  /// As take(), and reports the outcome. If the outcome is a failure that would end the run, first tries to save the
  /// present step instead. Returns true if that save succeeded.
  bool finish();
  /// Saves the present step in place of a failed background save. Returns whether that succeeded.
  bool rescue(const SaveOutcome& failed);
  /// Sets SaveOutcome::counts of a failed save to rank 0's decision, on all ranks. Collective.
  SaveOutcome agreed(SaveOutcome outcome);
  /// The number of consecutive failed saves, including this one if it counts.
  std::int64_t failures_with(const SaveOutcome& outcome) const;
  /// Whether this outcome is a failure that ends the run.
  bool ends_run(const SaveOutcome& outcome) const;
  /// Whether another save should be tried: the storage refused the files, and checkpoint.on_save_error is "continue".
  bool worth_another(const SaveOutcome& outcome) const;
  /// Reports the outcome of a save. \error StatusError if it is a failure that ends the run
  void handle(const SaveOutcome& outcome);
  /// As handle(), but every failure ends the run.
  void handle_as_fatal(const SaveOutcome& outcome);
  void log_outcome(const SaveOutcome& outcome);
  /// Rank 0: reports a save in the near folder, and starts its copy to the run folder.
  void tell_near(const SaveOutcome& outcome);
  /// Rank 0: reports a save that is in the run folder.
  void tell_durable(const SaveOutcome& outcome);
  // Functions for a near folder (saves_near.cpp).
  /// Rank 0: reports the steps that were copied to the run folder since the last call.
  void tell_copied();
  /// Rank 0: whether the save of `snap` goes to the near folder, which must have room for it. Waits up to `patience`
  /// for earlier steps to be copied, and gives up steps whose copies are late.
  bool goes_near(const ckpt::Snapshot& snap, std::chrono::milliseconds patience);
  /// Waits until the run folder has all steps that were saved in the near folder. Collective; returns the same on all
  /// ranks.
  ckpt::Status await_copies();
  /// Returns once `step`, the newest one, is in the run folder. If its copy fails, saves it to the run folder directly.
  /// Collective. \error as now()
  void await_durable(std::uint64_t step);
  /// Reports a failed save; `then` says what the run does about it.
  void tell_failure(const SaveOutcome& outcome, const std::string& then);
  /// For messages: up to which step the run is saved although the last save failed.
  std::string safe_text() const;

  RunState& run_;
  std::optional<SaveSchedule> schedule_;         ///< set once the run has started
  std::unique_ptr<BackgroundSaver> background_;  ///< null: all saves are synchronous
  std::uint64_t newest_ = 0;
  bool past_near_ = false;                           ///< saves no longer go to the near folder
  std::uint64_t durable_ = 0;                        ///< newest step in the run folder; rank 0 only
  std::map<std::uint64_t, SaveOutcome> near_saves_;  ///< by step: saves that are only in the near folder; rank 0 only
  bool told_of_cache_ = false;                       ///< the message that saves go through the page cache was logged
  bool lines_late_ = false;   ///< the storage refused metrics lines at the last save; rank 0 only
  std::uint64_t needed_ = 0;  ///< bytes that the last save needed; rank 0 only
  std::shared_ptr<const std::atomic<StoreAnswer>> answer_;  ///< whether storage accepts files again; null: not asked
  std::optional<SavedPoint> saved_, under_way_;  ///< the newest checkpoint; the one that the present save will create
};

}  // namespace titan::train
