#pragma once
// The exit codes of titan-train and titan-ckpt.
#include "ckpt/base/status.h"

namespace titan::ckpt {

/// The documented exit codes. exit_code() gives the one for each kind of failure (Code in status.h).
enum ExitCode : int {
  kExitDone = 0,
  kExitDifferent = 1,  ///< a difference, damage, a signature that does not fit, or a repair that is not possible
  kExitUsage = 2,
  kExitFailed = 3,
  kExitNotFound = 10,
  kExitLocked = 11,
  kExitCorrupt = 12,
  kExitIncompatible = 13,
  kExitSaved = 75,         ///< stopped after a save or before the first step: start the run again to continue
  kExitInterrupted = 130,  ///< stopped by SIGINT, without a save
  kExitTerminated = 143,   ///< stopped by SIGTERM, SIGHUP or SIGUSR1, without a save
};
/// True for the codes of ExitCode.
bool is_exit_code(int code);
/// True for success: the run is complete, or it saved and stopped early.
inline bool ended_well(int code) { return code == kExitDone || code == kExitSaved; }
/// True if the run was stopped before its last step, with or without a save.
inline bool stopped_early(int code) {
  return code == kExitSaved || code == kExitInterrupted || code == kExitTerminated;
}
/// Returns the exit code for a failure of kind `code`.
ExitCode exit_code(Code code);

}  // namespace titan::ckpt
