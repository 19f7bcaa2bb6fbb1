#pragma once
// A job that starts again after it failed: a process that starts the launcher as its child, and waits.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace titan::train {

struct RestartOptions {
  unsigned most = 0;                       ///< restarts
  std::string program = "/proc/self/exe";  ///< what is started
  /// The words of the next start; `restart`: 0 for the first one.
  std::function<std::vector<std::string>(unsigned restart)> words;
  /// The newest step that a start would take; nothing where there is none.
  std::function<std::optional<std::uint64_t>()> newest;
  std::function<void(const std::string& line)> say;  ///< what happens after a failure
  /// Before the restart behind a start that left no newer step; twice as long behind the next in a row. Else there is
  /// no wait.
  std::chrono::milliseconds first_wait{1'000};
};

/// Starts the job, and again after each failure (exit code 3, or a launcher that a signal ended), at most
/// `options.most` times; not where three in a row left no newer step, and not after a stop signal. Those are
/// passed on to the child, which is in a process group of its own; the child gets SIGTERM when this process dies.
/// Returns the last exit code; 130 or 143 for a stop between two starts. The calling process has one thread, and its
/// signal mask and handlers count for the child.
int run_with_restarts(const RestartOptions& options);

}  // namespace titan::train
