#include "ckpt/lock/lock_wait.h"

#include <chrono>
#include <thread>

namespace titan::ckpt {

LockWait::LockWait()
    : now([] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }),
      sleep([](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }),
      say([](const std::string&) {}) {}

LockWait& lock_wait() {
  static LockWait wait;
  return wait;
}

}  // namespace titan::ckpt
