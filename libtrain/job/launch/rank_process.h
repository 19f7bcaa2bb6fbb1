#pragma once
// What a process does for itself before it becomes a rank.
#include <map>
#include <optional>
#include <string>

#include "ckpt/base/status.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// Call first in a rank, after install_stop_handlers(): ties its life to the launcher's, if it has one. A rank
/// of ours dies with it; one of torchrun's is asked to stop, so that it saves, when the agent dies. \error kFailed: our
/// launcher is already gone
ckpt::Status bind_to_launcher();

/// Tells the launcher, if there is one, that this rank has printed why it ends, with this exit code. A signal handler
/// may call it: no memory is allocated.
void note_said_why(int code);
/// What a rank leaves to the launcher to print.
enum class Left {
  kCause,   ///< this rank has lost no other: what it met comes first
  kLostOne  ///< a rank that lost another is a consequence
};
/// Leaves it to the launcher to print `message` where it knows no nearer cause. False without one.
[[nodiscard]] bool leave_to_launcher(Left what, const std::string& message, const std::string& hint);

/// Rank 0 will take so many seconds more at most, once the other ranks have ended.
void note_finishing(double seconds);

/// What the ranks of a job have told their launcher.
struct RankReports {
  std::optional<int> said_code;  ///< of the first rank that has printed why it ends
  std::string lost, hint;        ///< the first cause that was left to it; where there is none, the first message
  double finishing = 0;          ///< seconds that rank 0 takes beyond the others
};
/// `bytes`: what was read from the pipe behind kReportFd; a record that was cut off counts as none.
RankReports decode_reports(const std::string& bytes);
inline constexpr const char* kReportFd = "TITAN_REPORT_FD";

/// The variables that a rank's libraries must find when they are loaded: OMP_NUM_THREADS and MKL_NUM_THREADS, MKL_CBWR
/// unless it is set.
std::map<std::string, std::string> thread_variables(int threads, const GetEnv& get);

/// Makes sure that thread_variables() were set before this process started (their libraries read them once, at load
/// time): executes the program again, once, with the same arguments where they were not. Call it from main before any
/// thread or socket exists; open files marked close-on-exec are lost.
void ensure_thread_env(int threads);
/// The threads with which ensure_thread_env executed the program again; 0 before that.
int threads_of_restart();

}  // namespace titan::train
