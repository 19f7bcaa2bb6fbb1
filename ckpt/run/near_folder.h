#pragma once
// The near folder (checkpoint.near): a local folder of the host in which a run publishes its steps before it copies
// them to the run folder. If the near folder is lost, only steps that were not copied yet are lost.
// \source docs/operations.md, "Saves in two tiers"
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

/// A file in the folder of a run's steps: 12 hex digits that identify the run's near folder. If the run is removed, a
/// new run at the same path gets other digits.
inline constexpr const char* kNearMark = "near.id";
inline constexpr const char* kNearMarkTemporary = "near.id.tmp";  ///< renamed to kNearMark once it is written
/// An empty file in a near step: the step was copied to the run folder.
inline constexpr const char* kDurableMark = ".durable";

/// Checks that `root` (checkpoint.near) may hold the near folder of the run in `run_dir`, whose steps are in
/// `checkpoint_dir`. None of the folders has to exist. \error kInvalid: `root` is not an absolute path, is not a
/// folder, or is, contains or is inside `run_dir` or `checkpoint_dir` (symbolic links are followed)
Status check_near(Fs& fs, const std::string& root, const std::string& run_dir, const std::string& checkpoint_dir);

/// Creates the folder `root` (checkpoint.near) if it is missing. \error kInvalid: it cannot be created
Status make_near(Fs& fs, const std::string& root);

/// The near folder below `root` of the run whose steps are in `checkpoint_dir`; empty if the run has none yet. The name
/// of the near folder is computed from the file kNearMark and the real path of `checkpoint_dir`, so a copy of the run
/// has another near folder. \error kFailed, kCorrupt (the file kNearMark)
Result<std::string> find_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root);

/// As find_near(), but creates kNearMark and the near folder if they are missing, and removes leftovers of dead saves
/// in the near folder. The caller must hold the lock of the run. \error as find_near()
Result<std::string> open_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root);

/// A file that rank 0 writes into the near folder, so that every rank can check that it sees the same folder.
inline constexpr const char* kNearSeen = "seen";

/// Removes the near folder `folder` with all its steps. Files of users in steps are kept, and `folder` with them;
/// returns the folders that hold such files. What cannot be removed stays.
std::vector<std::string> remove_near(Fs& fs, const std::string& folder);

/// Whether the near step at `path` was copied to the run folder (it has the file kDurableMark).
bool was_durable(Fs& fs, const std::string& path);

/// Records that the near step at `path` was copied to the run folder.
Status note_durable(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
