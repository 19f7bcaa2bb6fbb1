#pragma once
// Optional worker threads, and conversion of exceptions to a Status.
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// A kFailed Status with the message "out of memory" for std::bad_alloc, else with the text of `error`.
Status status_of(const std::exception& error);

/// Runs `work`, which returns a Status, and turns an exception into a Status. For threads, where an uncaught exception
/// would end the process.
template <typename Work>
Status contained(const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

/// The worker threads of one caller. The destructor waits until they end, so no thread may then be waiting for the
/// caller.
class Helpers {
 public:
  Helpers() = default;
  ~Helpers() { join(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Starts a thread that runs `work`, which must not throw. Returns false if the system can start no further thread (a
  /// container's process limit, no memory); the caller then continues with the threads that it has.
  bool start(std::function<void()> work) noexcept;
  bool empty() const { return threads_.empty(); }
  void join();

  /// For tests: lets this process start `count` more threads and then none; a negative number lifts the limit.
  static void allow_for_test(int count);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace titan::ckpt
