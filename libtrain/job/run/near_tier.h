#pragma once
// The steps published in checkpoint.near, and rank 0's thread that copies them to the run folder, oldest first. \source
// docs/operations.md, "Saves in two tiers"
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/mutex.h"
#include "ckpt/model/read_back.h"
#include "ckpt/save/publish.h"

namespace titan::train {

/// A step that was copied to the run folder.
struct Drained {
  std::uint64_t step = 0;
  ckpt::Published published;
  double seconds = 0;  ///< duration of the copy
};

/// Copies steps from the near folder to the run folder, in a thread of its own. It has many members because this thread
/// and the callers share the queue, the results and the requests to hurry or stop, all under one lock.
class NearTier {
 public:
  struct Options {
    std::string folder, checkpoint_dir;  ///< the near folder, and the run's checkpoint folder
    ckpt::ReadBack read_back = ckpt::ReadBack::kSampled;
    std::set<std::uint64_t> damaged;                       ///< damaged steps of the run folder; see CommitOptions
    std::function<ckpt::Status()> still_ours;              ///< see CommitOptions
    std::function<void(const std::string& line)> problem;  ///< called by any thread
    /// The pause after a failed copy. The pause doubles with each further failure, up to `longest_pause`.
    std::chrono::milliseconds first_pause{1'000}, longest_pause{60'000};
  };
  /// `fs` must outlive this object.
  NearTier(ckpt::Fs& fs, Options options);
  /// Abandons the copy in progress; the run's next start copies that step again.
  ~NearTier();
  NearTier(const NearTier&) = delete;
  NearTier& operator=(const NearTier&) = delete;

  const std::string& folder() const { return options_.folder; }
  /// Adds `step`, which was published in the near folder. Returns at once.
  void add(std::uint64_t step);
  /// The steps that were copied since the last call, oldest first.
  std::vector<Drained> take();
  /// The number of steps that are not durable yet.
  std::size_t waiting();
  /// Why the last copy failed; ok if the last copy worked.
  ckpt::Status refused();
  /// Waits until at most `most` steps are not durable. \error kFailed: not within `limit`; the error of a copy: copies
  /// have failed for `patience`
  ckpt::Status wait(std::size_t most, std::chrono::milliseconds limit, std::chrono::milliseconds patience);
  /// Removes all steps from the near folder that were copied to the run folder. Without this call the newest of them is
  /// kept.
  void make_room();
  /// Removes queued steps from the near folder without copying them, except one: the step that is being copied, else
  /// the newest. Returns the removed steps, oldest first.
  std::vector<std::uint64_t> drop_older();
  /// Removes the near folder if every step in it is durable. For a run that copies nothing more and whose later starts
  /// do not need the near folder.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void work();
  ckpt::Result<ckpt::Published> copy(std::uint64_t step);
  bool is_lost(std::uint64_t step, const ckpt::Status& status);
  void keep_only(std::uint64_t step);
  ckpt::Status drop(const std::string& name);
  std::string path_of(std::uint64_t step) const;

  ckpt::Fs& fs_;
  Options options_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::deque<std::uint64_t> queue_ TITAN_GUARDED_BY(mutex_);
  std::vector<Drained> drained_ TITAN_GUARDED_BY(mutex_);
  ckpt::Status refused_ TITAN_GUARDED_BY(mutex_);
  bool under_way_ TITAN_GUARDED_BY(mutex_) = false;  ///< the first step of queue_ is being copied
  bool hurry_ TITAN_GUARDED_BY(mutex_) = false;      ///< a caller waits: no pause before the next attempt
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, unsigned> unreadable_;  ///< number of attempts that found a step damaged; used only by the
                                                  ///< thread
  ckpt::CancelSource stop_;
  std::thread thread_;
};

}  // namespace titan::train
