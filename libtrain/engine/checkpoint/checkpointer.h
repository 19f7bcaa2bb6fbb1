#pragma once
// Saves and loads training state: the only code that converts between at::Tensor and leaves.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/sync_and_publish.h"
#include "ckpt/save/tensor_stream.h"
#include "ckpt/save/writer.h"
#include "libtrain/engine/model/stage.h"
#include "libtrain/engine/optim/adamw.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

class Control;
struct World;

struct SaveReport : ckpt::Published {
  double seconds = 0;
  double write_seconds = 0;    ///< part of `seconds`: until every rank had written what it owns
  double publish_seconds = 0;  ///< part of `seconds`: the manifest and the renames, on rank 0
};

/// Number of threads that write a save: `computing`, or more if a store needs more parallel writes.
unsigned writers_for(const ckpt::Snapshot& snapshot, unsigned computing);

class Checkpointer {
 public:
  /// `checkpoint_dir` is `<dump_folder>/<folder>`; references must outlive the checkpointer.
  Checkpointer(ckpt::Fs& fs, World& world, std::string checkpoint_dir);

  /// Writes `snapshot` with the optimizer's tensors and publishes it. Collective. On failure nothing is published, and
  /// at most one leftover remains. `on_begin` runs on rank 0 once the temporary folder exists.
  ckpt::Result<SaveReport> save(const ckpt::Snapshot& snapshot, const ShardedAdamW& optimizer,
                                const std::function<void(const std::string& tmp)>& on_begin);

  /// As save(), but over the group `io`, with this rank's tensors from `source`, and with `threads` writing threads.
  /// Call it from one thread at a time.
  ckpt::Result<SaveReport> save_from(Control& io, const ckpt::Snapshot& snapshot, ckpt::TensorSource& source,
                                     unsigned threads, const std::function<void(const std::string& tmp)>& on_begin);

  /// Removes the temporary folder `tmp` of a save that ended with CommError. Errors are ignored.
  void abandon(const std::string& tmp) { ckpt::abandon_save(fs_, tmp); }

  /// Reads and verifies the leaves that this rank owns: of the parameters and, with `moments`, of Adam's moments. The
  /// other ranks of the stage read the rest. The caller must make all ranks agree on the outcome. \error kInterrupted,
  /// kTerminated (by `stop`): the tensors are then only partly loaded
  static ckpt::Status load(const ckpt::CheckpointReader& reader, const recipe::RunPlan& plan, ShardedAdamW& optimizer,
                           bool moments, const ckpt::CancelToken& stop = {});

  /// Records the steps of `folder` in which loading found damage. Publishing a save with the same number in `folder`
  /// moves the damaged step aside.
  void mark_damaged(const std::string& folder, const std::set<std::uint64_t>& steps) { damaged_[folder] = steps; }
  /// Sets the folder of the next saves; rank 0's value is used. Not during a save.
  void save_into(const std::string& folder) { dir_ = folder; }
  /// `still_ours` is called right before a step is published; see CommitOptions.
  void guard_commits(std::function<ckpt::Status()> still_ours) { still_ours_ = std::move(still_ours); }

 private:
  ckpt::Status give_up(ckpt::Status status, const ckpt::Snapshot& snapshot, const std::string& tmp);

  ckpt::Fs& fs_;
  World& world_;
  std::string dir_;
  std::map<std::string, std::set<std::uint64_t>> damaged_;  ///< by folder
  std::function<ckpt::Status()> still_ours_;
};

}  // namespace titan::train
