#pragma once
// The exit codes of both programs.
#include "ckpt/base/status.h"

namespace titan::ckpt {

/// The published exit codes of both programs (the table of the command-line contract).
enum ExitCode : int {
  kExitDone = 0,
  kExitDifferent = 1,  ///< a difference or damage was looked for and found
  kExitUsage = 2,
  kExitFailed = 3,
  kExitNotFound = 10,
  kExitLocked = 11,
  kExitCorrupt = 12,
  kExitIncompatible = 13,
  kExitSaved = 75,         ///< saved and stopped early: start the run again
  kExitInterrupted = 130,  ///< stopped by SIGINT, without a save
  kExitTerminated = 143,   ///< stopped by SIGTERM, without a save
};
/// True for the codes of ExitCode.
bool is_exit_code(int code);
/// True where nothing went wrong: done, or saved and stopped early.
inline bool ended_well(int code) { return code == kExitDone || code == kExitSaved; }
/// True where a stop ended the run before it was done, saved or not.
inline bool stopped_early(int code) {
  return code == kExitSaved || code == kExitInterrupted || code == kExitTerminated;
}
/// Returns the exit code of a failure of the kind `code`.
ExitCode exit_code(Code code);

}  // namespace titan::ckpt
