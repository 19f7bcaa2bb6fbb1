#pragma once
// The CPU's lane: a thread that runs the work items, computes with one core, and waits for the network.
#include <deque>
#include <exception>
#include <thread>

#include "ckpt/base/mutex.h"
#include "libtrain/engine/device/lane.h"

namespace titan::train {

class ThreadLane final : public Lane {
 public:
  ThreadLane() = default;
  ~ThreadLane() override;
  ThreadLane(const ThreadLane&) = delete;
  ThreadLane& operator=(const ThreadLane&) = delete;

  void give(Work work) override;
  std::size_t given() const override;
  void wait(std::size_t count) override;

 private:
  void run();

  mutable ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::deque<Work> waiting_ TITAN_GUARDED_BY(mutex_);
  std::size_t given_ TITAN_GUARDED_BY(mutex_) = 0;
  std::size_t done_ TITAN_GUARDED_BY(mutex_) = 0;
  bool ends_ TITAN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TITAN_GUARDED_BY(mutex_);
  std::thread thread_;  // started with the first work item
};

}  // namespace titan::train
