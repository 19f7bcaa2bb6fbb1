#pragma once
// FakeWait: a clock that advances when somebody sleeps, and records messages.
#include <functional>
#include <string>
#include <vector>

#include "ckpt/lock/lock_wait.h"

namespace titan::ckpt::testing {

struct FakeWait : LockWait {
  FakeWait() {
    now = [this] {
      if (on_now) on_now(time);
      return time;
    };
    sleep = [this](double seconds) {
      time += seconds;
      if (on_sleep) on_sleep(time);
    };
    say = [this](const std::string& text) { said.push_back(text); };
    beats = false;
  }
  FakeWait(const FakeWait&) = delete;
  FakeWait& operator=(const FakeWait&) = delete;

  double time = 0;
  std::function<void(double)> on_sleep, on_now;  ///< what others do meanwhile
  std::vector<std::string> said;
};

}  // namespace titan::ckpt::testing
