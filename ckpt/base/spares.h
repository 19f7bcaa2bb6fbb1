#pragma once
// Objects that tasks on several threads use one after the other, such as buffers whose memory stays mapped. Unlike
// thread_local objects they are destroyed with their Spares, and if there is no memory for one, take() throws; a
// thread_local object would end the program.
#include <utility>
#include <vector>

#include "ckpt/base/mutex.h"

namespace titan::ckpt {

/// Thread-safe. A task that fails need not give back what it took.
template <class T>
class Spares {
 public:
  /// One that was given back, as it was then, or a new one.
  T take() {
    const MutexLock lock(mutex_);
    if (spares_.empty()) return T();
    T last = std::move(spares_.back());
    spares_.pop_back();
    return last;
  }
  void give(T one) {
    const MutexLock lock(mutex_);
    spares_.push_back(std::move(one));
  }

 private:
  Mutex mutex_;
  std::vector<T> spares_ TITAN_GUARDED_BY(mutex_);
};

}  // namespace titan::ckpt
