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

/// For one caller. The destructor joins the threads, so nothing that they wait for may need the caller.
class Helpers {
 public:
  Helpers() = default;
  ~Helpers() { join(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Starts a thread that runs `work`, which does not throw. Returns false where the system has no thread or memory for
  /// it (a container's limit of processes); the caller goes on with the threads that it has.
  bool start(std::function<void()> work) noexcept;
  bool empty() const { return threads_.empty(); }
  void join();

  /// For tests: after `count` more threads of this process there are none; a negative number lifts that.
  static void allow_for_test(int count);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace titan::ckpt
