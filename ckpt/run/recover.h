#pragma once
// Cleans up after dead processes in a folder of checkpoints, for runs and tools: first puts back what was moved aside,
// then removes the rest.
// \source FORMAT.md, "Recovery"
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

inline constexpr const char* kRewriteSuffix = ".tmp-rewrite";  ///< the temporary of a tool that makes DST is DST + this

/// The parts of that temporary. \source FORMAT.md, "Rewriting"
inline std::string rewrite_fresh(const std::string& dst) { return join_path(dst + kRewriteSuffix, "new"); }
inline std::string rewrite_aside(const std::string& dst) { return join_path(dst + kRewriteSuffix, "old"); }
inline std::string rewrite_lock(const std::string& dst) { return join_path(dst + kRewriteSuffix, "lock"); }

/// Moves a checkpoint that an interrupted rewrite had moved aside back to `dst`, durably; ok where none is or `dst` is
/// there. The caller holds the lock of the rewrite. \error kFailed: what was moved aside may be the only copy, so
/// remove nothing
Status put_back(Fs& fs, const std::string& dst);

/// ok where what an interrupted rewrite left may go: nothing of it looks like a whole checkpoint, or every byte of
/// `dst` was read now. A `dst` that merely exists may be anything that somebody put there. \error kFailed: both are
/// left; kInterrupted, kTerminated: by `cancel`
Status check_removable(Fs& fs, const std::string& dst, const CancelToken& cancel = {});

/// put_back() for every interrupted rewrite in `folder` whose tool is dead; a live tool's is left alone.
/// Returns one line for each that failed, and in `restored` the paths that are there again.
std::vector<std::string> put_back_all(Fs& fs, const std::string& folder, std::vector<std::string>* restored = nullptr);

/// put_back_all(), then removes the leftovers: temporaries and trash of steps, of dead runs and tools. The caller holds
/// the lock of the run. What may be the only copy of a step is never removed. It ends
/// between two files, or within a read, where lock_wait() says that this process is to stop. Returns one line for each
/// failure.
std::vector<std::string> recover_folder(Fs& fs, const std::string& folder,
                                        std::vector<std::string>* restored = nullptr);

}  // namespace titan::ckpt
