#pragma once
// Checks that all ranks see the checkpoint folder of rank 0. Rank 0 holds the folder's lock, whose file contains a
// random mark: a rank that reads the same mark sees the same folder, by any path. The check writes nothing.
#include <string>
#include <vector>

#include "ckpt/lock/lock_wait.h"
#include "libtrain/job/control/control.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// Seconds for which a rank retries: a network file system's client may cache for a while that a file does not exist.
inline constexpr double kFolderPatienceSeconds = 10;

/// What a rank finds in its checkpoint folder.
struct FolderView {
  int rank = 0;
  bool same = false;  ///< the folder has rank 0's lock
  std::string path;   ///< as configured
  std::string found;  ///< if not `same`: what was found instead
};

/// Looks for a lock with `mark` in `checkpoint_dir`, for up to kFolderPatienceSeconds.
FolderView view_folder(ckpt::Fs& fs, int rank, const std::string& checkpoint_dir, const std::string& mark,
                       const ckpt::LockWait& wait);

/// ok if all `views` are the same folder. \error kIncompatible: ranks have other paths than rank 0; kFailed: the path
/// is the same, but leads to other folders
ckpt::Status judge_folders(const std::string& path_of_root, const std::vector<FolderView>& views);

/// Collective; all ranks return the same. Only rank 0's `mark` is used. If all ranks see the folder, it costs a small
/// read per rank, a broadcast and a sum.
ckpt::Status check_shared_folder(Control& all, ckpt::Fs& fs, const std::string& checkpoint_dir, const std::string& mark,
                                 const ckpt::LockWait& wait);

}  // namespace titan::train
