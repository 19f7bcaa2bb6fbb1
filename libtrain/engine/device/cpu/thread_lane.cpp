#include "libtrain/engine/device/cpu/thread_lane.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <utility>

namespace titan::train {

ThreadLane::~ThreadLane() {
  {
    const ckpt::MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void ThreadLane::give(Work work) {
  const ckpt::MutexLock lock(mutex_);
  waiting_.push_back(std::move(work));
  ++given_;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

std::size_t ThreadLane::given() const {
  const ckpt::MutexLock lock(mutex_);
  return given_;
}

void ThreadLane::wait(std::size_t count) {
  ckpt::MutexLock lock(mutex_);
  while (done_ < count && error_ == nullptr) changed_.wait(lock);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void ThreadLane::run() {
  at::init_num_threads();
  omp_set_num_threads(1);  // for work of this thread; the training thread keeps its number
  ckpt::MutexLock lock(mutex_);
  while (true) {
    while (waiting_.empty() && !ends_) changed_.wait(lock);
    if (ends_ || error_ != nullptr) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    work = nullptr;  // releases what the item holds before wait() can return
    lock.lock();
    error_ = error;
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace titan::train
