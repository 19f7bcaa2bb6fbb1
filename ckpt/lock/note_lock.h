#pragma once
// A lock file with a note that names its holder, for local and network stores. \source FORMAT.md, "The lock of a run"
//
// Between processes of one host, the advisory lock of the file decides. Another host may not see this lock, and some
// stores have none. Then the note decides as well: the holder rewrites it every few seconds, and a process that wants
// the lock watches whether the note changes.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "ckpt/base/mutex.h"
#include "ckpt/lock/lock_owner.h"
#include "ckpt/lock/lock_wait.h"

namespace titan::ckpt {

class FileLock;
class Fs;

inline constexpr double kBeatSeconds = 5;  ///< time between two heartbeats of a holder
/// After this time, two processes that claimed the lock at the same moment have both written their notes.
inline constexpr double kSettleSeconds = 1;

/// A held lock: the kernel's advisory lock and the note. A process has the lock only if it has both. On a store without
/// advisory locks, the note alone is the lock. It has many members because it keeps three things together: what
/// identifies the claim (file, note), what the heartbeat's thread needs, and the loss that a heartbeat has found.
class NoteLock {
 public:
  /// The evidence that another process has the lock.
  enum class Evidence {
    kDenied,      ///< the store refuses the advisory lock: another process has it
    kNoteMoves,   ///< the note changed while this process watched it
    kSameMoment,  ///< two processes claimed the lock at the same moment, and the other's note remained
  };
  /// Makes the error for a lock that another process has. `holder` is the note of that process (not ok: the note cannot
  /// be read). `self` is the note of this process; self.heartbeat is the time at which it began to take the lock.
  using Refusal = std::function<Status(const Result<LockOwner>& holder, const LockOwner& self, Evidence seen)>;

  /// Takes the lock on `path`. Watches the note if the advisory lock cannot tell whether a holder is alive. The lock is
  /// valid only after settle(). With `disposable`, the file is removed after a failure if no other process can own it.
  /// \error what `refuse` returns (a holder is alive), kNotFound (the file was removed meanwhile: try again),
  /// kInterrupted or kTerminated (`wait.cancel` ended the wait), kMediaError, kFailed
  static Result<std::unique_ptr<NoteLock>> claim(Fs& fs, const std::string& path, LockOwner self, const Refusal& refuse,
                                                 const LockWait& wait, bool disposable = false);
  /// Makes claimed locks valid. If another process may have claimed one of them at the same moment, waits
  /// kSettleSeconds and reads the note of each such lock again. Then, if LockWait::beats is true, starts the threads
  /// that write heartbeats. \error what `refuse` returns, kMediaError, kFailed
  static Status settle(std::span<const std::unique_ptr<NoteLock>> locks);
  /// Writes heartbeat 0 (the holder has ended) into the note, so that the next process need not watch it. Does nothing
  /// if the note is no longer that of this claim.
  ~NoteLock();
  NoteLock(const NoteLock&) = delete;
  NoteLock& operator=(const NoteLock&) = delete;

  /// Returns lost() if that is an error. Otherwise calls beat() with the current time if the last heartbeat is at least
  /// kBeatSeconds old.
  Status pulse();
  /// Rewrites the note with heartbeat `now`. \error kLocked (another process has taken the lock, or the file was
  /// removed: stop writing into the folder), or an I/O error
  Status beat(double now);
  /// Reads the note again. \error kLocked (another process has taken the lock, or the file was removed), or an I/O
  /// error
  Status still_ours() const;
  /// kLocked once a heartbeat has found the lock lost. Does no I/O and does not wait for a heartbeat.
  Status lost() const;
  /// Ends the thread that writes the heartbeat. The destructor does this, too.
  void stop_beating();
  /// LockOwner::mark of this claim.
  const std::string& mark() const { return self_.mark; }
  /// Whether a thread writes the heartbeat.
  bool beating() const { return thread_.joinable(); }

 private:
  NoteLock(Fs& fs, std::string path, std::unique_ptr<FileLock> lock, LockOwner self, Refusal refuse,
           const LockWait& wait);
  Status look() const;
  Status refused() const;
  Status beat_locked(double now) TITAN_REQUIRES(mutex_);
  void start_beating();
  void beat_until_closed();

  Fs& fs_;
  const std::string path_;
  std::unique_ptr<FileLock> lock_;
  LockOwner self_;
  const Refusal refuse_;
  const LockWait& wait_;
  bool rivals_possible_ = false;                   // another process may have claimed the lock at the same time
  mutable Mutex mutex_;                            // also guards the lock file
  double last_beat_ TITAN_GUARDED_BY(mutex_) = 0;  // by the clock wait_.now
  bool closing_ TITAN_GUARDED_BY(mutex_) = false;
  mutable Mutex lost_mutex_;  // never held during I/O: lost() is called at each step and must not wait for the store
  Status lost_ TITAN_GUARDED_BY(lost_mutex_);
  Condition wake_;
  std::thread thread_;
};

}  // namespace titan::ckpt
