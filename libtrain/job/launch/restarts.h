#pragma once
// Restarts a job after it failed: this process starts the launcher as its child and waits for it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace titan::train {

struct RestartOptions {
  unsigned most = 0;                       ///< maximum number of restarts
  std::string program = "/proc/self/exe";  ///< the program that is started
  /// Returns the arguments of the next start; `restart` is 0 for the first one.
  std::function<std::vector<std::string>(unsigned restart)> words;
  /// Returns the newest step that a start would resume from; nullopt if there is none.
  std::function<std::optional<std::uint64_t>()> newest;
  std::function<void(const std::string& line)> say;  ///< gets a message after a failure
  /// The wait before a restart if the last start made no newer step; doubled for each further such start in a row.
  /// Otherwise there is no wait.
  std::chrono::milliseconds first_wait{1'000};
};

/// Starts the job, and restarts it after each failure (exit code 3, or a launcher that died by a signal), at most
/// `options.most` times. Gives up after three starts in a row without a newer step, and after a stop signal. Stop
/// signals are passed on to the child, which has its own process group; the child gets SIGTERM when this process dies.
/// Returns the last exit code; 130 or 143 for a stop between two starts. The calling process must have one thread; the
/// child inherits its signal mask and ignored signals.
int run_with_restarts(const RestartOptions& options);

}  // namespace titan::train
