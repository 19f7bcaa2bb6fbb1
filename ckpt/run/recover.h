#pragma once
// Cleans up after dead processes in a folder of checkpoints, for runs and tools: puts back checkpoints that rewrites
// had moved aside, and removes the other leftovers.
// \source FORMAT.md, "Recovery"
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {

class Fs;

/// A tool that makes DST works in the folder DST + this suffix.
inline constexpr const char* kRewriteSuffix = ".tmp-rewrite";

/// The entries of that folder: the new checkpoint, the replaced one, the lock. \source FORMAT.md, "Rewriting"
inline std::string rewrite_fresh(const std::string& dst) { return join_path(dst + kRewriteSuffix, "new"); }
inline std::string rewrite_aside(const std::string& dst) { return join_path(dst + kRewriteSuffix, "old"); }
inline std::string rewrite_lock(const std::string& dst) { return join_path(dst + kRewriteSuffix, "lock"); }

/// If an interrupted rewrite moved a checkpoint aside and `dst` does not exist, moves it back to `dst`, durably. Ok
/// also if there is nothing to do. The caller must hold the lock of the rewrite. \error kFailed: remove nothing,
/// because the checkpoint that was moved aside may be the only copy
Status put_back(Fs& fs, const std::string& dst);

/// Checks that the leftovers of an interrupted rewrite may be removed: no part of them looks like a checkpoint, or
/// every byte of `dst` matches its digest (all bytes are read now, because `dst` may have been changed). \error
/// kFailed: keep `dst` and the leftovers; kInterrupted, kTerminated: by `cancel`
Status check_removable(Fs& fs, const std::string& dst, const CancelToken& cancel = {});

/// Calls put_back() for every interrupted rewrite in `folder` whose tool is dead. Returns one line per failure;
/// `restored` gets the paths of checkpoints that were put back.
std::vector<std::string> put_back_all(Fs& fs, const std::string& folder, std::vector<std::string>* restored = nullptr);

/// As put_back_all(), and removes the other leftovers of dead runs and tools (is_leftover()). Never removes what may be
/// the only copy of a step. The caller must hold the lock of the run. After a stop request of lock_wait().cancel it
/// ends between two files or within a read. Returns one line per failure.
std::vector<std::string> recover_folder(Fs& fs, const std::string& folder,
                                        std::vector<std::string>* restored = nullptr);

}  // namespace titan::ckpt
