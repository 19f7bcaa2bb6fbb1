#pragma once
// Local ranks: starts them, forwards the wish to stop, ends all of them when one dies, and dies only after them.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "libtrain/job/launch/rank_process.h"

namespace titan::train {

struct LaunchOptions {
  int nproc = 1;
  std::vector<std::string> argv;           ///< of every rank, as typed, program name included
  int threads_per_rank = 1;                ///< OMP_NUM_THREADS and MKL_NUM_THREADS of the ranks
  std::string run_dir;                     ///< for the hint to a rank's log, where that says something; may be empty
  std::string program = "/proc/self/exe";  ///< what the ranks execute
  /// How long the other ranks have to end by themselves, after one died and after one ended well.
  /// What rank 0 says that it takes to finish (note_finishing) comes on top of the latter.
  std::chrono::milliseconds failure_grace{5'000}, success_grace{60'000};
  /// The same after a second SIGINT.
  std::chrono::milliseconds abort_grace{2'000};
};

/// Called from launch_local's own thread; each may be empty.
struct LaunchEvents {
  std::function<void(int rank, int pid)> started;
  /// The first stop signal was forwarded to every rank.
  std::function<void(int signal)> stopping;
  /// Called at most once, with the cause of the failure; not when a rank has said why it ends (rank_process.h).
  std::function<void(const std::string& message, const std::string& hint)> failed;
};

/// Runs `nproc` ranks of `program` on this host and returns the exit code of the job when all of them are gone:
/// the code that all ranks agreed on; that of the first rank that failed on its own where it is a published one; 3 for
/// a dead rank; 130 or 143 when a stop signal killed the ranks before they could save.
///
/// The calling process should have one thread: the ranks die with the thread that started them. Afterwards it ignores
/// SIGTERM, SIGHUP, SIGUSR1 and SIGINT, for all that is left to do is to end with this code.
int launch_local(const LaunchOptions& options, const LaunchEvents& events);

}  // namespace titan::train
