#pragma once
// checkpoint.near: a folder of the host in which the steps of a run are published before they are copied to the run
// folder. Nothing in it is needed: what is lost there costs its steps alone.
// \source docs/operations.md, "Saves in two tiers"
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// In the folder of a run's steps: 12 hex digits by which its near folder is known. Another run at the same path, after
/// this one was removed, has others.
inline constexpr const char* kNearMark = "near.id";
inline constexpr const char* kNearMarkTemporary = "near.id.tmp";  ///< what becomes it
/// In a step of the near folder: the run folder has had that step, too.
inline constexpr const char* kDurableMark = ".durable";

/// Checks that `root` (checkpoint.near) may hold the near folder of the run in `run_dir`, whose steps lie in
/// `checkpoint_dir`: none of the three need be there. \error kInvalid: no absolute path, or one of them lies in the
/// other, through links or not, or what is there is no folder
Status check_near(Fs& fs, const std::string& root, const std::string& run_dir, const std::string& checkpoint_dir);

/// Makes the folder `root` (checkpoint.near) where it is missing. \error kInvalid: it cannot be made
Status make_near(Fs& fs, const std::string& root);

/// The near folder below `root` of the run whose steps lie in `checkpoint_dir`; empty where it has none yet. It depends
/// on the mark and on where the run lies, so that a copy of the run has another one. \error kFailed, kCorrupt (the
/// mark)
Result<std::string> find_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root);

/// The same, made where it is missing, and the mark, too; what dead saves left in it goes. The caller holds the lock of
/// the run. \error kFailed
Result<std::string> open_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root);

/// Whether the run folder has had the step at `path` of the near folder.
bool was_durable(Fs& fs, const std::string& path);

/// Notes that it has it.
Status note_durable(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
