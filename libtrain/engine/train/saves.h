#pragma once
// The saves of a run: at a step boundary, or in the background while training continues.
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

/// The state of the run at its newest checkpoint, except the tensors, which are in the checkpoint.
struct SavedPoint {
  Progress progress;
  std::string path;
  ckpt::Digest id = {};  ///< on rank 0 only, which checks what is at `path`
  bool moments = true;   ///< the run loaded moments from the checkpoint, or saved them
};

/// One class, for at each step one decision says whether to save and where: by interval or by request, near or durable.
class Saves {
 public:
  explicit Saves(RunState& run) : run_(run) {}

  /// Call this once the run has started. Needs World::save if checkpoint.async_mode asks for saves in the background.
  void begin();

  /// Saves `step` and returns when it is durable. `last_chance`: there is no later save. Finishes a background save
  /// first. Collective. \error StatusError on all ranks together
  void now(std::uint64_t step, bool last_chance);
  /// Saves `step`, after which the run ends, unless it is saved already or by the save under way. An older save under
  /// way may fail, for this one is newer. Collective. \error as now()
  void last(std::uint64_t step);
  /// Saves `step`: in the background if that is asked for, else like now(). Waits for a save that is under way.
  /// Collective. \error as now()
  void due(std::uint64_t step);

  /// Rank 0 tells the others the result at the next step. True if the clock asks for a save, or if a save failed and
  /// the store accepts files again.
  bool time_is_up();
  /// Whether to save `step`, given rank 0's time_is_up(). The same on all ranks.
  bool is_due(std::uint64_t step, bool time_is_up) const {
    return schedule_->due(step, time_is_up, background_ && background_->busy());
  }
  /// Whether this rank's part of a background save is over. The rank tells the others at the next step.
  bool over_here() const { return background_ && background_->busy() && background_->done(); }
  /// Call this when the background save is over on every rank. \error as now()
  void over_everywhere();
  /// Call this before weights and moments change. Collective while a save is under way: ranks wait here for a rank with
  /// a slow store, for as long as a save may take, instead of in the next transfer, which may only take as long as a
  /// step.
  void let_change();
  /// Waits for a background save. Collective. \error as now()
  void drain() { (void)finish(); }
  /// For a run that ends with an error that all ranks know of: finishes a background save and ignores its errors.
  void settle();

  /// The newest step that this run has, or began from.
  std::uint64_t newest() const { return newest_; }
  /// The newest step, to go back to; none if nothing is saved.
  std::optional<SavedPoint>& saved() { return saved_; }

 private:
  double now_s() const;
  ckpt::Snapshot snapshot(std::uint64_t step);
  /// Before a save: makes the lines logged up to its step durable, and waits for deletions if space is short.
  /// Collective. If on_save_error is "stop", returns on all ranks the error of the store, if there was one. \error as
  /// now()
  ckpt::Status announce(const ckpt::Snapshot& snap);
  /// The part of announce() on rank 0 that makes lines durable. An error does not prevent the save if the run continues
  /// after failed saves.
  ckpt::Status sync_lines(std::chrono::milliseconds patience);
  SaveOutcome save_here(std::uint64_t step);
  /// Waits for a background save and returns its outcome, which has not been reported yet. Nothing if no save is under
  /// way.
  std::optional<SaveOutcome> take();
  /// Like take(), and reports the outcome. Before a failure ends the run, saves the state in memory: true if that was
  /// done and the run continues.
  bool finish();
  bool rescue(const SaveOutcome& failed);
  /// Rank 0 tells all ranks whether a failure counts (SaveOutcome::counts). Collective.
  SaveOutcome judged(SaveOutcome outcome);
  /// How many saves in a row have failed, including this one if it counts.
  std::int64_t failures_with(const SaveOutcome& outcome) const;
  /// Whether no other save is tried after this failure.
  bool ends_run(const SaveOutcome& outcome) const;
  /// Whether the store refused something that a later save may get accepted, and the run is to try one.
  bool worth_another(const SaveOutcome& outcome) const;
  void conclude(const SaveOutcome& outcome);
  /// Like conclude(), but every failure ends the run.
  void insist(const SaveOutcome& outcome);
  void tell(const SaveOutcome& outcome);
  void tell_near(const SaveOutcome& outcome);
  void tell_durable(const SaveOutcome& outcome);
  // Functions for a near folder (saves_near.cpp).
  /// Rank 0: reports the steps that were copied to the run folder since the last call.
  void tell_copied();
  /// Rank 0: whether the save of `snap` goes into the near folder, which requires that the copies keep up and that the
  /// folder has room. Waits for the copies up to `patience`.
  bool goes_near(const ckpt::Snapshot& snap, std::chrono::milliseconds patience);
  /// Waits until the run folder has all steps that were published in the near folder. Collective; returns the same on
  /// all ranks.
  ckpt::Status await_copies();
  /// Returns once the run folder has `step`, the newest one: waits for its copy and, if the copy fails, saves the state
  /// in memory to the run folder. Collective. \error as now()
  void await_durable(std::uint64_t step);
  void tell_failure(const SaveOutcome& outcome, const std::string& then);
  /// For messages: the checkpoint that a failed save leaves untouched.
  std::string safe_text() const;

  RunState& run_;
  std::optional<SaveSchedule> schedule_;         ///< once the run has started
  std::unique_ptr<BackgroundSaver> background_;  ///< null: every save is waited for
  std::uint64_t newest_ = 0;
  bool past_near_ = false;                           ///< saves go into the run folder, not into the near one
  std::uint64_t durable_ = 0;                        ///< newest step of the run folder; rank 0 only
  std::map<std::uint64_t, SaveOutcome> near_saves_;  ///< near saves that are not durable yet; rank 0 only
  bool told_of_cache_ = false;
  bool lines_late_ = false;   ///< the store refused log lines at the last save; rank 0 only
  std::uint64_t needed_ = 0;  ///< bytes of the last save that began; rank 0 only
  std::shared_ptr<const std::atomic<StoreAnswer>> answer_;  ///< null: not asked since the last failure
  std::optional<SavedPoint> saved_, under_way_;
};

}  // namespace titan::train
