#pragma once
// Which old steps a run deletes after a save, and the thread that does it. Deleting may take minutes on a large store,
// so it never happens between two steps of the training.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "ckpt/io/stoppable_removals.h"

namespace titan::ckpt {

/// What this process knows of a step.
enum class Verdict {
  kUnknown,  ///< not looked at yet, or it could not be judged just now
  kProved,   ///< saved by this process, or loaded whole: every digest held
  kWhole,    ///< manifest and sizes of members hold, and a resume finds all that it needs
  kPartial,  ///< valid, but no resume can start from it (weights only)
  kDamaged,  ///< found damaged, by its structure or while loading
};

struct RetainedStep {
  std::uint64_t step = 0;
  Verdict verdict = Verdict::kUnknown;
  bool pinned = false;
  std::optional<double> loss = std::nullopt;  ///< of its validation
};

struct RetentionRules {
  std::uint64_t keep_latest = 0;  ///< 0: all
  std::uint64_t keep_every = 0;   ///< steps that this divides; 0: no such rule
  std::uint64_t keep_best = 0;    ///< those with the lowest loss; 0: no such rule
};

/// The steps to delete so that the newest `keep_latest` proved or whole ones remain, oldest first. `steps` are newest
/// first. Pinned steps, step 0 and those of keep_every and keep_best stay, and count where they are among the newest.
/// The newest proved step stays, and so does every step that is neither proved nor whole. Without a proved step nothing
/// is deleted. Pure.
std::vector<std::uint64_t> select_expired(const std::vector<RetainedStep>& steps, const RetentionRules& rules);

struct RetentionOptions {
  std::string folder;  ///< of the steps
  RetentionRules rules;
  std::function<Status()> still_ours;  ///< asked before each deletion; not ok: nothing more is deleted
  std::function<void(const std::string& name)> deleted;     ///< called by the thread
  std::function<void(const std::string& problem)> problem;  ///< called by the thread; no problem here ends a run
  std::function<bool(std::uint64_t step)> in_use = {};  ///< somebody reads it: it goes in a later pass; may be empty
};

/// Deletes expired steps of one run, in a thread of its own. Calls may come from one other thread.
class Retention {
 public:
  Retention(Fs& fs, RetentionOptions options);
  /// Ends after the file whose deletion is under way; the rest is the next start's.
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  /// What loading a step has shown. Never forgotten.
  void judge(std::uint64_t step, Verdict verdict);
  /// The validation loss of a step, saved or not.
  void validated(std::uint64_t step, double loss);
  /// `step` was committed by this process: it is proved, and a pass over the folder begins. Returns at once.
  void saved(std::uint64_t step);
  /// A pass is under way, or asked for.
  bool busy();
  /// Nothing is in use any more: a pass begins where one has left something for that.
  void release();
  /// Waits until every pass that was asked for is over. False: `gives_up` said so, which is asked ten times a second.
  bool finish(const std::function<bool()>& gives_up = {});
  /// One pass, in the calling thread: removes trash that an earlier deletion left, judges what is unknown, deletes what
  /// is expired.
  void pass();

 private:
  void work();
  bool stopping();
  std::vector<RetainedStep> look();
  Verdict verdict_of(std::uint64_t step);
  std::optional<double> loss_of(std::uint64_t step);
  Verdict learn(std::uint64_t step, Verdict seen);

  Fs& fs_;
  StoppableRemovals removals_;
  RetentionOptions options_;
  Mutex mutex_;
  Condition wake_, idle_;
  std::map<std::uint64_t, Verdict> verdicts_ TITAN_GUARDED_BY(mutex_);
  std::map<std::uint64_t, double> losses_ TITAN_GUARDED_BY(mutex_);
  bool asked_ TITAN_GUARDED_BY(mutex_) = false;
  bool busy_ TITAN_GUARDED_BY(mutex_) = false;
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  bool left_for_use_ TITAN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace titan::ckpt
