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

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/mutex.h"

namespace titan::ckpt {

/// What this process knows of a step.
enum class Verdict {
  kUnknown,  ///< not looked at yet, or it could not be judged just now
  kProved,   ///< every byte of it was read by this process, and held: loaded, or read again after it was written
  kSaved,    ///< published by this process, and what checkpoint.verify_after_write asks for was read again
  kWhole,    ///< manifest and sizes of members hold, and a resume finds all that it needs
  kPartial,  ///< valid, but no resume can start from it (weights only)
  kDamaged,  ///< found damaged, by its structure or while loading; or another checkpoint lies there now
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

/// The steps to delete so that the newest `keep_latest` proved, saved or whole ones remain, oldest first. `steps` are
/// newest first. Pinned steps, step 0 and those of keep_every and keep_best stay, and count where they are among the
/// newest. The newest proved or saved step stays, and so does every step that is damaged, partial or unknown. Without a
/// proved or saved step nothing is deleted. Pure.
std::vector<std::uint64_t> select_expired(const std::vector<RetainedStep>& steps, const RetentionRules& rules);

/// The step that must be read whole before `expired` may go: the newest saved one, where neither a proved step nor a
/// second saved one would stay beside it. Pure.
std::optional<std::uint64_t> step_to_prove(const std::vector<RetainedStep>& steps,
                                           const std::vector<std::uint64_t>& expired);

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
  /// Ends after the file whose deletion is under way, or in the middle of a read; the rest is the next start's.
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  /// What loading a step has shown. `id`: of the checkpoint that was loaded.
  void judge(std::uint64_t step, Verdict verdict, std::optional<Digest> id = std::nullopt);
  /// The validation loss of a step, saved or not.
  void validated(std::uint64_t step, double loss);
  /// `step` was committed by this process, as `id`; `read_whole` as Published's. A pass over the folder begins. Returns
  /// at once.
  void saved(std::uint64_t step, const Digest& id, bool read_whole);
  /// A pass is under way, or asked for.
  bool busy();
  /// Nothing is in use any more: a pass begins where one has left something for that.
  void release();
  /// Waits until every pass that was asked for is over. False: `gives_up` said so, which is asked ten times a second.
  bool finish(const std::function<bool()>& gives_up = {});
  /// One pass, in the calling thread: removes trash that an earlier deletion left, judges what is unknown or has become
  /// another checkpoint, deletes what is expired. Reads the newest step whole where step_to_prove() asks for it.
  void pass();

 private:
  /// A step as this process knows it: a path is no identity.
  struct Known {
    Verdict verdict = Verdict::kUnknown;
    std::optional<Digest> id;
    std::optional<FileInfo> manifest;  ///< the file that was looked at
    bool operator==(const Known&) const = default;
  };
  void work();
  bool stopping() const;
  std::vector<RetainedStep> look();
  std::string path_of(std::uint64_t step) const;
  Known known(std::uint64_t step);
  Verdict verdict_of(std::uint64_t step);
  bool unchanged(std::uint64_t step);
  bool prove(std::uint64_t step);
  std::optional<double> loss_of(std::uint64_t step);
  Verdict learn(std::uint64_t step, const Known& before, Known seen);

  Fs& fs_;
  RetentionOptions options_;
  Mutex mutex_;
  Condition wake_, idle_;
  std::map<std::uint64_t, Known> known_ TITAN_GUARDED_BY(mutex_);
  std::map<std::uint64_t, double> losses_ TITAN_GUARDED_BY(mutex_);
  bool asked_ TITAN_GUARDED_BY(mutex_) = false;
  bool busy_ TITAN_GUARDED_BY(mutex_) = false;
  bool left_for_use_ TITAN_GUARDED_BY(mutex_) = false;
  CancelSource stop_;  ///< asked by the destructor
  std::thread thread_;
};

}  // namespace titan::ckpt
