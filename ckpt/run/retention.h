#pragma once
// Which old steps a run deletes after a save, and the thread that deletes them. Deleting may take minutes on a large
// store, so training does not wait for it.
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

/// What this process knows about a step, from its own checks.
enum class Verdict {
  kUnknown,  ///< not checked yet, or the check failed for a reason that may pass
  kProved,   ///< this process read every byte, and all matched: while loading, or after it wrote the step
  kSaved,    ///< this process published it, and read back what checkpoint.verify_after_write asks for
  kWhole,    ///< the manifest and the sizes of members are right, and it has everything that a resume needs
  kPartial,  ///< valid, but it lacks a component that a resume needs (for example weights only)
  kDamaged,  ///< damage was found in manifest or sizes or while loading; or it was replaced by another checkpoint
};

/// The facts about one step that the retention rules use.
struct RetainedStep {
  std::uint64_t step = 0;
  Verdict verdict = Verdict::kUnknown;
  bool pinned = false;
  std::optional<double> loss = std::nullopt;  ///< validation loss
};

struct RetentionRules {
  std::uint64_t keep_latest = 0;  ///< number of newest steps to keep; 0: keep all
  std::uint64_t keep_every = 0;   ///< keep steps that are multiples of this; 0: no such rule
  std::uint64_t keep_best = 0;    ///< number of steps with the lowest validation loss to keep; 0: no such rule
};

/// The steps to delete, oldest first, so that the newest `keep_latest` of the proved, saved and whole steps remain.
/// `steps` are newest first. Never deleted: pinned steps, step 0, steps of keep_every and keep_best (all of these count
/// towards `keep_latest` if they are among the newest), the newest proved or saved step, and every damaged, partial or
/// unknown step. Without any proved or saved step nothing is deleted. Pure.
std::vector<std::uint64_t> select_expired(const std::vector<RetainedStep>& steps, const RetentionRules& rules);

/// The step of which every byte must be read before `expired` may be deleted: the newest saved step, if the deletion
/// would leave no proved step and no other saved step; else nullopt. Pure.
std::optional<std::uint64_t> step_to_prove(const std::vector<RetainedStep>& steps,
                                           const std::vector<std::uint64_t>& expired);

struct RetentionOptions {
  std::string folder;  ///< the folder that holds the steps
  RetentionRules rules;
  std::function<Status()> still_ours;  ///< called before each deletion; not ok (lock lost): nothing more is deleted
  /// Called by the deleting thread after a deletion; `kept` as in delete_step().
  std::function<void(const std::string& name, const std::string& kept)> deleted;
  /// Gets a message about a failure from the deleting thread, or from Retention::saved() if this thread cannot be
  /// started. The run continues.
  std::function<void(const std::string& problem)> problem;
  /// Returns true if the step is being read; a later Retention::pass() deletes it. May be empty.
  std::function<bool(std::uint64_t step)> in_use = {};
};

/// Deletes expired steps of one run in its own thread. Call its functions from one other thread only.
class Retention {
 public:
  Retention(Fs& fs, RetentionOptions options);
  /// Stops after the file that is being deleted, or within a read; the next start deletes the rest.
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  /// Records what this process found when it loaded `step`. `id` is the id of the loaded checkpoint.
  void judge(std::uint64_t step, Verdict verdict, std::optional<Digest> id = std::nullopt);
  /// Records the validation loss after `step`, which need not be saved.
  void validated(std::uint64_t step, double loss);
  /// Records that this process published `step` as checkpoint `id`; `read_whole` as in Published. Unless all steps are
  /// kept, makes the thread start a pass(). Returns at once.
  void saved(std::uint64_t step, const Digest& id, bool read_whole);
  /// True while a pass is running or requested.
  bool busy();
  /// Call it when no step is in use any more. Starts a pass if an earlier one kept a step because it was in use.
  void release();
  /// Waits until every requested pass is done. Returns false once `gives_up`, called ten times a second, returns true.
  bool finish(const std::function<bool()>& gives_up = {});
  /// One pass, in the calling thread: removes trash of earlier deletions, judges steps that are unknown or were
  /// replaced by another checkpoint, and deletes expired ones. Reads every byte of a step if step_to_prove() asks for
  /// it.
  void pass();

 private:
  /// What this process knows about a step. The path alone does not identify a checkpoint.
  struct Known {
    Verdict verdict = Verdict::kUnknown;
    std::optional<Digest> id;
    std::optional<FileInfo> manifest;  ///< stat of the manifest file at the last check
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
  CancelSource stop_;  ///< requested by the destructor
  std::thread thread_;
};

}  // namespace titan::ckpt
