#pragma once
// Runs the ranks of a job on this host: starts them, forwards stop signals, ends all of them if one dies, and returns
// the job's exit code.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "libtrain/job/launch/rank_process.h"

namespace titan::train {

struct LaunchOptions {
  int nproc = 1;
  std::vector<std::string> argv;  ///< arguments of every rank, as typed, program name included
  int threads_per_rank = 1;       ///< OMP_NUM_THREADS and MKL_NUM_THREADS of the ranks
  std::string run_dir;  ///< the run folder, for a hint that names a rank's log unless the log is empty; "": no hint
  std::string program = "/proc/self/exe";  ///< what the ranks execute
  /// How long the other ranks have to end by themselves after one died (failure_grace), and after one ended
  /// successfully (success_grace). The time that rank 0 announces with note_finishing() is added to success_grace.
  std::chrono::milliseconds failure_grace{5'000}, success_grace{60'000};
  /// How long the ranks have after a second SIGINT.
  std::chrono::milliseconds abort_grace{2'000};
};

/// Called from launch_local's own thread; each may be empty.
struct LaunchEvents {
  std::function<void(int rank, int pid)> started;
  /// The first stop signal was forwarded to every rank.
  std::function<void(int signal)> stopping;
  /// Called at most once, with the cause of the failure. An exit code alone is not reported if a rank has printed why
  /// it ends (rank_process.h). A rank that was killed or stopped, or that does not end, always is.
  std::function<void(const std::string& message, const std::string& hint)> failed;
};

/// Runs `nproc` ranks of `program` on this host and returns the exit code of the job when all have ended, the first of
/// these that applies:
/// - 130 after a second SIGINT, unless all ranks ended well
/// - the code with which all ranks ended; 75 if all ended well with different codes
/// - 130 or 143 if the forwarded stop signal killed a rank
/// - 3 if another signal killed a rank, or a rank is stopped
/// - the code of the first rank that failed by itself; 3 if it is no documented exit code
///
/// The calling process should have one thread: the ranks die with the thread that started them. Afterwards the process
/// ignores SIGTERM, SIGHUP, SIGUSR1 and SIGINT, since it only has to end with this code.
int launch_local(const LaunchOptions& options, const LaunchEvents& events);

}  // namespace titan::train
