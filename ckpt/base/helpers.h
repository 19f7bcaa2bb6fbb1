#pragma once
// Threads that help the caller where the system has some to give, and exceptions that end in a Status.
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// "out of memory", or what the exception says. \error kFailed
Status status_of(const std::exception& error);

/// Calls `work`, which returns a Status; an exception becomes one as well. For threads: nothing catches what leaves
/// them.
template <typename Work>
Status contained(const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

/// For one caller. Joins its threads when it goes; whatever they wait for must come without the caller then.
class Helpers {
 public:
  Helpers() = default;
  ~Helpers() { join(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Starts a thread that runs `work`, which does not throw. False where the system has no thread or no memory for one
  /// (a limit of processes in a container): the caller goes on with those there are.
  bool start(std::function<void()> work) noexcept;
  bool empty() const { return threads_.empty(); }
  void join();

  /// For tests: after `count` more threads of this process there are none; a negative number lifts that.
  static void allow_for_test(int count);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace titan::ckpt
