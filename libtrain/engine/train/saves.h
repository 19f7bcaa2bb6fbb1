#pragma once
// The saves of a run: at a step boundary, or in the background while training goes on.
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

/// What a word of checkpoint.verify_after_write asks for.
ckpt::ReadBack read_back_of(const std::string& word);

/// The state of the run at its newest checkpoint, beside the tensors that lie there.
struct SavedPoint {
  Progress progress;
  std::string path;
  ckpt::Digest id = {};  ///< on rank 0, which looks at what lies at the path
  bool moments = true;   ///< the run took them from there
};

/// Who saves, when and where is one decision at each step: by interval, by request, near or durable.
class Saves {
 public:
  explicit Saves(RunState& run) : run_(run) {}

  /// Once the run has started; needs the world's group for saves where checkpoint.async_mode asks for it.
  void begin();

  /// Saves `step` and returns when it is durable. `last_chance`: there is no later save. What was under way in the
  /// background is finished first. Collective. \error StatusError on all ranks together
  void now(std::uint64_t step, bool last_chance);
  /// The run ends behind `step`: it is saved, unless it is already or a save under way brings it. That one may fail,
  /// for this one is newer. Collective. \error as now()
  void last(std::uint64_t step);
  /// Saves `step`: in the background where that is asked for, and else now(). A save that is under way is waited for.
  /// Collective. \error as now()
  void due(std::uint64_t step);

  /// Rank 0's word to the others at the next step: the clock asks for a save, or one failed and the store takes files
  /// again.
  bool time_is_up();
  /// Whether `step` is to be saved, given that word. The same on all ranks.
  bool is_due(std::uint64_t step, bool time_is_up) const {
    return schedule_->due(step, time_is_up, background_ && background_->busy());
  }
  /// What this rank tells the others at the next step: its part of a save in the background is over.
  bool over_here() const { return background_ && background_->busy() && background_->done(); }
  /// To be called when it is over on every rank. \error as now()
  void over_everywhere();
  /// To be called before weights and moments change. Collective while a save is under way: ranks wait here for one
  /// whose store is slow, as long as a save may take, and not in the next transfer, as long as a step may.
  void let_change();
  /// Waits for what is under way in the background. Collective. \error as now()
  void drain() { (void)finish(); }
  /// The run ends with an error that all ranks live through: finishes what is under way, and passes over what goes
  /// wrong.
  void settle();

  /// The newest step that this run has, or began from.
  std::uint64_t newest() const { return newest_; }
  /// The same, to go back to; none where nothing is saved.
  std::optional<SavedPoint>& saved() { return saved_; }

 private:
  double now_s() const;
  ckpt::Snapshot snapshot(std::uint64_t step);
  /// Before a save: what was logged of its step is made durable, and where space is short, deletions are waited for.
  /// Collective. Returns what the store refused of it, on all ranks, where on_save_error is "stop". \error as now()
  ckpt::Status announce(const ckpt::Snapshot& snap);
  /// Rank 0's share of it that makes lines durable: what they meet holds up no save that goes on after failures.
  ckpt::Status sync_lines(std::chrono::milliseconds patience);
  SaveOutcome save_here(std::uint64_t step);
  /// Waits for what is under way in the background: its outcome, which is not told yet. Nothing where nothing is.
  std::optional<SaveOutcome> take();
  /// The same, and tells it. Before a failure ends the run, the state in memory is saved: true where it was, and the
  /// run goes on.
  bool finish();
  bool rescue(const SaveOutcome& failed);
  /// All ranks hear from rank 0 whether a failure counts. Collective.
  SaveOutcome judged(SaveOutcome outcome);
  /// How many saves in a row have failed, with this one where it counts.
  std::int64_t failures_with(const SaveOutcome& outcome) const;
  /// The failure of a save is one after which no other is tried.
  bool ends_run(const SaveOutcome& outcome) const;
  /// The store refused what a later save may bring, and the run is to try one.
  bool worth_another(const SaveOutcome& outcome) const;
  void conclude(const SaveOutcome& outcome);
  /// As conclude(), but every failure ends the run.
  void insist(const SaveOutcome& outcome);
  void tell(const SaveOutcome& outcome);
  void tell_near(const SaveOutcome& outcome);
  void tell_durable(const SaveOutcome& outcome);
  // What a near folder changes (saves_near.cpp).
  /// Rank 0: tells of the steps that were copied to the run folder since.
  void tell_copied();
  /// Rank 0: whether the save of `snap` goes into the near folder: the copies keep up, and it has room. Waits for them
  /// up to `patience`.
  bool goes_near(const ckpt::Snapshot& snap, std::chrono::milliseconds patience);
  /// Waits until the run folder has what was published near. Collective; the same on all ranks.
  ckpt::Status await_copies();
  /// Returns once the run folder has `step`, the newest one: waits for its copy and, where that fails, saves the state
  /// in memory there. Collective. \error as now()
  void await_durable(std::uint64_t step);
  void tell_failure(const SaveOutcome& outcome, const std::string& then);
  /// What a save that fails does not touch.
  std::string safe_text() const;

  RunState& run_;
  std::optional<SaveSchedule> schedule_;         ///< once the run has started
  std::unique_ptr<BackgroundSaver> background_;  ///< null: every save is waited for
  std::uint64_t newest_ = 0;
  bool past_near_ = false;                           ///< saves go into the run folder, not into the near one
  std::uint64_t durable_ = 0;                        ///< newest step of the run folder; rank 0 only
  std::map<std::uint64_t, SaveOutcome> near_saves_;  ///< those that are not durable; rank 0 only
  bool told_of_cache_ = false;
  bool lines_late_ = false;                                 ///< the store refused them at the last save; rank 0 only
  std::uint64_t needed_ = 0;                                ///< bytes of the last save that began; rank 0 only
  std::shared_ptr<const std::atomic<StoreAnswer>> answer_;  ///< null: not asked since the last failure
  std::optional<SavedPoint> saved_, under_way_;
};

}  // namespace titan::train
