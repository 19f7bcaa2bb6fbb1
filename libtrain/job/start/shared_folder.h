#pragma once
// Do all ranks see the folder that rank 0 writes its steps into? Rank 0 holds the lock there, and the note in it has a
// random mark: a rank that reads the same mark sees the same folder, whatever path leads to it. Nothing is written for
// that, so nothing can be left over.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/lock/lock_wait.h"
#include "libtrain/job/talk/control.h"

namespace titan::train {

/// How long a rank looks again: a client of a network store may remember for a while that a file is not there.
inline constexpr double kFolderPatienceSeconds = 10;

/// What a rank finds in its folder of steps.
struct FolderView {
  int rank = 0;
  bool same = false;  ///< it holds the lock of rank 0
  std::string path;   ///< as configured
  std::string found;  ///< where it is not the same: what is there instead
};

/// Looks for a lock with `mark` in `checkpoint_dir`, for up to kFolderPatienceSeconds.
FolderView view_folder(ckpt::Fs& fs, int rank, const std::string& checkpoint_dir, const std::string& mark,
                       const ckpt::LockWait& wait);

/// ok where all `views` are the same. \error kIncompatible: other paths than rank 0's; kFailed: the same path, and
/// other folders behind it
ckpt::Status judge_folders(const std::string& path_of_root, const std::vector<FolderView>& views);

/// Collective; all ranks return the same. `mark` is rank 0's, that of the others is ignored. A small read a rank, a
/// broadcast and a sum.
ckpt::Status check_shared_folder(Control& all, ckpt::Fs& fs, const std::string& checkpoint_dir, const std::string& mark,
                                 const ckpt::LockWait& wait);

}  // namespace titan::train
