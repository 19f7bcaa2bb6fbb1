#pragma once
// The saves of a run: synchronous at a step boundary, or in the background while training continues.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ckpt/read/snapshot.h"
#include "libtrain/engine/checkpoint/background_saver.h"
#include "libtrain/engine/train/run_state.h"
#include "libtrain/job/run/save_schedule.h"

namespace titan::train {

/// The ReadBack that a value of checkpoint.verify_after_write asks for.
ckpt::ReadBack read_back_of(const std::string& word);

/// The state of the run at its newest checkpoint. The tensors are only in the checkpoint.
struct SavedPoint {
  Progress progress;
  std::string path;
  ckpt::Digest id = {};  ///< on rank 0 only, which checks the checkpoint at `path`
  bool moments = true;   ///< the run loaded moments from the checkpoint, or saved them
};

/// Decides at each step whether to save (interval or request) and where (near folder or run folder), and carries the
/// save out.
class Saves {
 public:
  explicit Saves(RunState& run) : run_(run) {}

  /// Call this once the run has started. Needs World::save if checkpoint.async_mode asks for saves in the background.
  void begin();

  /// Saves `step` and returns when it is durable. `last_chance`: no save follows. Finishes a background save first.
  /// Collective. \error StatusError, the same on all ranks
  void now(std::uint64_t step, bool last_chance);
  /// Saves the run's last step, `step`, unless it is already saved or being saved. An older background save may fail,
  /// since this one is newer. Collective. \error as now()
  void last(std::uint64_t step);
  /// Saves `step`, in the background if configured, else as now(). Waits for a save in progress. Collective. \error as
  /// now()
  void due(std::uint64_t step);

  /// For rank 0, which broadcasts the result at the next step: true if the clock asks for a save, or if a save failed
  /// and the store accepts files again.
  bool time_is_up();
  /// Whether to save `step`, given rank 0's time_is_up(). The same on all ranks.
  bool is_due(std::uint64_t step, bool time_is_up) const {
    return schedule_->due(step, time_is_up, background_ && background_->busy());
  }
  /// Whether this rank's part of a background save is done. The rank reports it to the others at the next step.
  bool over_here() const { return background_ && background_->busy() && background_->done(); }
  /// Call it when the background save is done on every rank. \error as now()
  void over_everywhere();
  /// Call it before weights and moments change. Collective during a save: ranks wait here for a rank with a slow store,
  /// up to the timeout of a save. Otherwise they would wait in the next transfer, whose timeout is that of a step.
  void before_update();
  /// Waits for a background save. Collective. \error as now()
  void wait() { (void)finish(); }
  /// For a run that ends with an error known to all ranks: finishes a background save and ignores its errors.
  void wait_ignoring_errors();

  /// The newest step that this run has saved or started from.
  std::uint64_t newest() const { return newest_; }
  /// The newest checkpoint to return to; nullopt if nothing is saved.
  std::optional<SavedPoint>& saved() { return saved_; }

 private:
  double now_s() const;
  ckpt::Snapshot snapshot(std::uint64_t step);
  /// Before a save: makes log lines up to its step durable, and waits for deletions if space is short. Collective. If
  /// on_save_error is "stop", a store error is returned on all ranks. \error as now()
  ckpt::Status announce(const ckpt::Snapshot& snap);
  /// Rank 0's part of announce(), which makes log lines durable. If the run continues after failed saves, an error does
  /// not prevent the save.
  ckpt::Status sync_lines(std::chrono::milliseconds patience);
  SaveOutcome save_here(std::uint64_t step);
  /// Waits for a background save and returns its outcome, which is not reported yet. nullopt if no save is in progress.
  std::optional<SaveOutcome> take();
  /// As take(), and reports the outcome. If a failure would end the run, first saves the state in memory: returns true
  /// if that succeeded and the run continues.
  bool finish();
  bool rescue(const SaveOutcome& failed);
  /// Rank 0 tells all ranks whether a failure counts (SaveOutcome::counts). Collective.
  SaveOutcome agreed(SaveOutcome outcome);
  /// The number of consecutive failed saves, including this one if it counts.
  std::int64_t failures_with(const SaveOutcome& outcome) const;
  /// Whether this failure ends the run without another attempt to save.
  bool ends_run(const SaveOutcome& outcome) const;
  /// Whether another save should be tried, since the store may accept later what it refused now.
  bool worth_another(const SaveOutcome& outcome) const;
  void handle(const SaveOutcome& outcome);
  /// As handle(), but every failure ends the run.
  void handle_as_fatal(const SaveOutcome& outcome);
  void log_outcome(const SaveOutcome& outcome);
  void tell_near(const SaveOutcome& outcome);
  void tell_durable(const SaveOutcome& outcome);
  // Functions for a near folder (saves_near.cpp).
  /// Rank 0: reports the steps that were copied to the run folder since the last call.
  void tell_copied();
  /// Rank 0: whether the save of `snap` goes to the near folder: only if copies to the run folder keep up and the near
  /// folder has room. Waits for the copies up to `patience`.
  bool goes_near(const ckpt::Snapshot& snap, std::chrono::milliseconds patience);
  /// Waits until the run folder has all steps that were published in the near folder. Collective; returns the same on
  /// all ranks.
  ckpt::Status await_copies();
  /// Returns once `step`, the newest one, is in the run folder: waits for its copy and, if the copy fails, saves the
  /// state in memory to the run folder. Collective. \error as now()
  void await_durable(std::uint64_t step);
  void tell_failure(const SaveOutcome& outcome, const std::string& then);
  /// For messages: the checkpoint that a failed save does not affect.
  std::string safe_text() const;

  RunState& run_;
  std::optional<SaveSchedule> schedule_;         ///< set once the run has started
  std::unique_ptr<BackgroundSaver> background_;  ///< null: all saves are synchronous
  std::uint64_t newest_ = 0;
  bool past_near_ = false;                           ///< saves go to the run folder, not to the near folder
  std::uint64_t durable_ = 0;                        ///< newest step in the run folder; rank 0 only
  std::map<std::uint64_t, SaveOutcome> near_saves_;  ///< near saves that are not yet in the run folder; rank 0 only
  bool told_of_cache_ = false;
  bool lines_late_ = false;   ///< the store refused log lines at the last save; rank 0 only
  std::uint64_t needed_ = 0;  ///< bytes of the last save that started; rank 0 only
  std::shared_ptr<const std::atomic<StoreAnswer>> answer_;  ///< null: not queried since the last failure
  std::optional<SavedPoint> saved_, under_way_;
};

}  // namespace titan::train
