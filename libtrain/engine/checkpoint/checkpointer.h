#pragma once
// Saves training state (weights, Adam's moments, EMA) to checkpoints and loads it.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/publish.h"
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

/// A published checkpoint (on rank 0; elsewhere only the times are set) and the times of its save in seconds.
struct SaveReport : ckpt::Published {
  double seconds = 0;          ///< the whole save
  double write_seconds = 0;    ///< part of `seconds`: until every rank had written what it owns
  double publish_seconds = 0;  ///< part of `seconds`: the manifest and the renames, on rank 0
};

/// Number of threads with which a rank writes `snapshot`: `computing` if leaves are compressed. Uncompressed leaves are
/// written with at least 4 threads, since a writing thread then mostly waits for the storage.
unsigned writers_for(const ckpt::Snapshot& snapshot, unsigned computing);

/// Saves and loads this rank's part of the checkpoints of a run.
class Checkpointer {
 public:
  /// `checkpoint_dir` is `<job.dump_folder>/<checkpoint.folder>`; references must outlive the checkpointer.
  Checkpointer(ckpt::Fs& fs, World& world, std::string checkpoint_dir);

  /// Writes `snapshot` with the optimizer's tensors and publishes the checkpoint. Collective. On failure nothing is
  /// published, and at most one leftover remains. `on_begin` runs on rank 0 once the temporary folder exists.
  ckpt::Result<SaveReport> save(const ckpt::Snapshot& snapshot, const ShardedAdamW& optimizer,
                                const std::function<void(const std::string& tmp)>& on_begin);

  /// As save(), but the ranks communicate in the group `io`, this rank's leaves come from `source`, and `threads`
  /// threads write. Call it from one thread at a time.
  ckpt::Result<SaveReport> save_from(Control& io, const ckpt::Snapshot& snapshot, ckpt::TensorSource& source,
                                     unsigned threads, const std::function<void(const std::string& tmp)>& on_begin);

  /// Removes the temporary folder `tmp` of a save that ended with CommError. Errors are ignored.
  void abandon(const std::string& tmp) { ckpt::abandon_save(fs_, tmp); }

  /// Reads the leaves that this rank owns and checks their digests: leaves of the parameters and, with `moments`, of
  /// Adam's moments and the EMA. The other ranks of the stage read the other leaves. The caller must make all ranks
  /// agree on the outcome. \error kIncompatible if the checkpoint is of another model; the reader's errors;
  /// kInterrupted, kTerminated (by `stop`). After an error the tensors may be partly loaded
  static ckpt::Status load(const ckpt::CheckpointReader& reader, const recipe::RunPlan& plan, ShardedAdamW& optimizer,
                           bool moments, const ckpt::CancelToken& stop = {});

  /// Records the steps of `folder` in which loading found damage. A save that is published in `folder` under the number
  /// of a damaged step moves that step aside.
  void mark_damaged(const std::string& folder, const std::set<std::uint64_t>& steps) { damaged_[folder] = steps; }
  /// Sets the folder of the next saves; rank 0's value is used. Not during a save.
  void save_into(const std::string& folder) { dir_ = folder; }
  /// Sets a check, called right before each step is published: an error of the check ends the save. See CommitOptions.
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
