#pragma once
// Worker threads that a caller can do without, and conversion of exceptions to a Status.
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// kFailed with "out of memory", or with the text of the exception.
Status status_of(const std::exception& error);

/// Runs `work`, which returns a Status, and turns an exception into one. For threads, where an uncaught exception would
/// end the process.
template <typename Work>
Status contained(const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

/// The worker threads of one caller. The destructor joins them; they must not wait for the caller at that point.
class Helpers {
 public:
  Helpers() = default;
  ~Helpers() { join(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Starts a thread that runs `work`, which must not throw. Returns false if the system has no thread or memory left
  /// (a container's process limit); the caller then continues with the threads that it has.
  bool start(std::function<void()> work) noexcept;
  bool empty() const { return threads_.empty(); }
  void join();

  /// For tests: lets this process start `count` more threads and then none; a negative number lifts the limit.
  static void allow_for_test(int count);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace titan::ckpt
