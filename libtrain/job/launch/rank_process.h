#pragma once
// What a process sets up before it becomes a rank.
#include <map>
#include <optional>
#include <string>

#include "ckpt/base/status.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// Call this first in a rank, after install_stop_handlers(): ends the rank together with its launcher, if it has one. A
/// rank of Titan's launcher dies with the launcher. A rank of torchrun is asked to stop when the agent dies, so that it
/// saves. \error kFailed: Titan's launcher has already ended
ckpt::Status bind_to_launcher();

/// Tells the launcher, if there is one, that this rank has printed why it ends, and that its exit code is `code`.
/// Async-signal-safe.
void note_said_why(int code);
/// The kind of an error that a rank leaves to the launcher to print.
enum class Left {
  kCause,   ///< this rank has lost no peer: its error is a cause, and is printed first
  kLostOne  ///< this rank has lost a peer: its error is a consequence
};
/// Asks the launcher to print `message` unless it knows a more direct cause. Returns false if there is no launcher.
[[nodiscard]] bool leave_to_launcher(Left what, const std::string& message, const std::string& hint);

/// Tells the launcher that rank 0 takes at most `seconds` more after the other ranks have ended.
void note_finishing(double seconds);

/// What the ranks of a job have reported to their launcher.
struct RankReports {
  std::optional<int> said_code;  ///< exit code of the first rank that has printed why it ends
  std::string lost, hint;  ///< the first cause that ranks left to the launcher; if there is none, the first consequence
  double finishing = 0;    ///< seconds that rank 0 needs after the others
};
/// `bytes`: what was read from the pipe that kReportFd names. An incomplete record is ignored.
RankReports decode_reports(const std::string& bytes);
inline constexpr const char* kReportFd = "TITAN_REPORT_FD";

/// The variables that must be set when a rank's libraries are loaded: OMP_NUM_THREADS, MKL_NUM_THREADS, and MKL_CBWR
/// unless it is set already.
std::map<std::string, std::string> thread_variables(int threads, const GetEnv& get);

/// If thread_variables() were not set when this process started, executes the program again, once, with these variables
/// and the same arguments, since libraries read them only when they are loaded. Call it from main before any thread or
/// socket exists. Open files marked close-on-exec are lost.
void ensure_thread_env(int threads);
/// The number of threads with which ensure_thread_env() executed the program again; 0 if it did not.
int threads_of_restart();

}  // namespace titan::train
