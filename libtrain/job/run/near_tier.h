#pragma once
// The steps that a run has published in checkpoint.near, and the thread of rank 0 that copies them to the run folder,
// one after the other, oldest first. \source docs/operations.md, "Saves in two tiers"
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
#include "ckpt/save/sync_and_publish.h"

namespace titan::train {

/// A step that the run folder has by now.
struct Drained {
  std::uint64_t step = 0;
  ckpt::Published published;
  double seconds = 0;  ///< that the copy took
};

class NearTier {
 public:
  struct Options {
    std::string folder, checkpoint_dir;  ///< the near folder, and the one of the run's steps
    ckpt::ReadBack read_back = ckpt::ReadBack::kSampled;
    std::set<std::uint64_t> damaged;                       ///< of the run folder; see CommitOptions
    std::function<ckpt::Status()> still_ours;              ///< likewise
    std::function<void(const std::string& line)> problem;  ///< called by the thread
    /// After a copy that failed, twice as long after each that fails behind it, `longest` at most.
    std::chrono::milliseconds first_pause{1'000}, longest_pause{60'000};
  };
  /// `fs` outlives it.
  NearTier(ckpt::Fs& fs, Options options);
  /// Gives up the copy that is under way; the next start makes it.
  ~NearTier();
  NearTier(const NearTier&) = delete;
  NearTier& operator=(const NearTier&) = delete;

  const std::string& folder() const { return options_.folder; }
  /// `step` was published in the near folder. Returns at once.
  void add(std::uint64_t step);
  /// What has become durable since the last call, oldest first.
  std::vector<Drained> take();
  /// Steps that are not durable yet.
  std::size_t waiting();
  /// Why the last copy failed; ok where none has since one that worked.
  ckpt::Status refused();
  /// Waits until at most `most` steps are not durable. \error kFailed: that takes longer than `limit`; the error of a
  /// copy: copies have failed for `patience`
  ckpt::Status wait(std::size_t most, std::chrono::milliseconds limit, std::chrono::milliseconds patience);
  /// Removes what the run folder has, too, from the near folder; else it keeps the newest of these.
  void make_room();
  /// Gives up steps that wait, oldest first, until one waits or is under way, and removes them. Returns them.
  std::vector<std::uint64_t> drop_older();
  /// Nothing more is to be copied, and no start needs what lies there: removes the near folder, where every step in it
  /// is durable.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void work();
  ckpt::Result<ckpt::Published> copy(std::uint64_t step);
  bool is_lost(std::uint64_t step, const ckpt::Status& status);
  void keep_only(std::uint64_t step);
  std::string path_of(std::uint64_t step) const;

  ckpt::Fs& fs_;
  Options options_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::deque<std::uint64_t> queue_ TITAN_GUARDED_BY(mutex_);
  std::vector<Drained> drained_ TITAN_GUARDED_BY(mutex_);
  ckpt::Status refused_ TITAN_GUARDED_BY(mutex_);
  bool under_way_ TITAN_GUARDED_BY(mutex_) = false;  ///< the copy of the first
  bool hurry_ TITAN_GUARDED_BY(mutex_) = false;      ///< somebody waits: no pause before the next try
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, unsigned> unreadable_;  ///< tries that found a step damaged; the thread's
  ckpt::CancelSource stop_;
  std::thread thread_;
};

}  // namespace titan::train
