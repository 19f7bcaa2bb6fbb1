#pragma once
// Cleans up after dead processes in a folder of checkpoints, for runs and tools: first puts back checkpoints that were
// moved aside, then removes the other leftovers.
// \source FORMAT.md, "Recovery"
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {

class Fs;

inline constexpr const char* kRewriteSuffix = ".tmp-rewrite";  ///< a tool that makes DST works in DST + this suffix

/// The entries of the temporary folder of a rewrite. \source FORMAT.md, "Rewriting"
inline std::string rewrite_fresh(const std::string& dst) { return join_path(dst + kRewriteSuffix, "new"); }
inline std::string rewrite_aside(const std::string& dst) { return join_path(dst + kRewriteSuffix, "old"); }
inline std::string rewrite_lock(const std::string& dst) { return join_path(dst + kRewriteSuffix, "lock"); }

/// If an interrupted rewrite moved a checkpoint aside and `dst` does not exist, moves it back to `dst`, durably. Ok
/// also if there is nothing to do. The caller must hold the lock of the rewrite. \error kFailed: the checkpoint that
/// was moved aside may be the only copy, so the caller must remove nothing
Status put_back(Fs& fs, const std::string& dst);

/// Checks that the leftovers of an interrupted rewrite may be removed: no part of them looks like a whole checkpoint,
/// or every byte of `dst` is whole (all are read now, because anybody may have changed `dst`). \error kFailed: keep
/// `dst` and the leftovers; kInterrupted, kTerminated: by `cancel`
Status check_removable(Fs& fs, const std::string& dst, const CancelToken& cancel = {});

/// Calls put_back() for every interrupted rewrite in `folder` whose tool is dead. Returns one line per failure;
/// `restored` gets the paths that exist again.
std::vector<std::string> put_back_all(Fs& fs, const std::string& folder, std::vector<std::string>* restored = nullptr);

/// Calls put_back_all(), then removes the leftovers of dead runs and tools: temporary folders and trash. Never removes
/// what may be the only copy of a step. The caller must hold the lock of the run. If lock_wait().cancel requests a
/// stop, it ends between two files or within a read. Returns one line per failure.
std::vector<std::string> recover_folder(Fs& fs, const std::string& folder,
                                        std::vector<std::string>* restored = nullptr);

}  // namespace titan::ckpt
