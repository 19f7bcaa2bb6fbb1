#pragma once
// A mutex whose use clang checks: reading or writing a member that is TITAN_GUARDED_BY(mutex_) without the lock is an
// error of `clang -Wthread-safety` (tests/thread_safety.py). Other compilers see nothing of the attributes.
// \source https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define TITAN_ATTRIBUTE(x) __attribute__((x))
#else
#define TITAN_ATTRIBUTE(x)
#endif

/// A member that is touched only while `mutex` is held.
#define TITAN_GUARDED_BY(mutex) TITAN_ATTRIBUTE(guarded_by(mutex))
/// A function that is called only while `mutex` is held.
#define TITAN_REQUIRES(mutex) TITAN_ATTRIBUTE(requires_capability(mutex))
#define TITAN_CAPABILITY TITAN_ATTRIBUTE(capability("mutex"))
#define TITAN_SCOPED_LOCK TITAN_ATTRIBUTE(scoped_lockable)
#define TITAN_ACQUIRE(...) TITAN_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TITAN_RELEASE() TITAN_ATTRIBUTE(release_capability())

namespace titan::ckpt {

class TITAN_CAPABILITY Mutex {
 public:
  void lock() TITAN_ACQUIRE() { mutex_.lock(); }
  void unlock() TITAN_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex while it lives, but for what lies between unlock() and lock(). Condition::wait takes it.
class TITAN_SCOPED_LOCK MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TITAN_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TITAN_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() TITAN_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() TITAN_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Waits under a MutexLock. What is waited for stands in a loop around wait(): the analysis does not look into the
/// predicate that wait() would take.
using Condition = std::condition_variable_any;

}  // namespace titan::ckpt
