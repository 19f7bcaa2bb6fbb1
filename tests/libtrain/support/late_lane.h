#pragma once
// A lane that does its work as late as allowed: when it is waited for.
#include <deque>
#include <stdexcept>
#include <utility>

#include "libtrain/engine/device/lane.h"

namespace titan::test {

class LateLane final : public train::Lane {
 public:
  void give(Work work) override {
    works_.push_back(std::move(work));
    ++given_;
  }
  std::size_t given() const override { return given_; }
  void wait(std::size_t count) override {
    while (!works_.empty() && given_ - works_.size() < count) {
      const Work work = std::move(works_.front());
      works_.pop_front();
      work();
    }
  }

 private:
  std::deque<Work> works_;
  std::size_t given_ = 0;
};

}  // namespace titan::test
