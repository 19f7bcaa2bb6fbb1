#pragma once
// A mutex whose use clang checks: reading or writing a member marked TITAN_GUARDED_BY(mutex_) without the lock is an
// error of `clang -Wthread-safety` (tests/each_source.py). For other compilers the attributes are empty.
// \source https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define TITAN_ATTRIBUTE(x) __attribute__((x))
#else
#define TITAN_ATTRIBUTE(x)
#endif

/// Marks a member that is accessed only while `mutex` is held.
#define TITAN_GUARDED_BY(mutex) TITAN_ATTRIBUTE(guarded_by(mutex))
/// Marks a function that is called only while `mutex` is held.
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

/// Holds a Mutex during its lifetime, except between unlock() and lock(). Condition::wait takes it as argument.
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

/// A condition variable for MutexLock. Call wait() in a loop that checks the condition: wait() returns every 100 ms
/// even without notify_all(), since glibc before 2.41 can lose a wakeup.
/// \source https://sourceware.org/bugzilla/show_bug.cgi?id=25847
class Condition {
 public:
  void wait(MutexLock& lock) { changed_.wait_for(lock, kLook); }
  /// As wait(), but returns timeout once `deadline` has passed.
  std::cv_status wait_until(MutexLock& lock, std::chrono::steady_clock::time_point deadline) {
    changed_.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() + kLook));
    return std::chrono::steady_clock::now() < deadline ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  void notify_all() { changed_.notify_all(); }

 private:
  static constexpr std::chrono::milliseconds kLook{100};
  std::condition_variable_any changed_;
};

}  // namespace titan::ckpt
