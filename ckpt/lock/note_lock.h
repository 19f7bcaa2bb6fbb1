#pragma once
// A lock file with a note of its holder, for stores of every kind. \source FORMAT.md, "The lock of a run"
//
// Advisory locks decide where all hosts see them (one host, most network stores). Where another host may not see them,
// or the store has none, the note decides: a holder rewrites it every few seconds, and whoever wants the lock watches
// whether it changes.
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "ckpt/lock/lock_owner.h"
#include "ckpt/lock/lock_wait.h"

namespace titan::ckpt {

inline constexpr double kBeatSeconds = 5;  ///< between two heartbeats of a holder
/// after this time, two that began in the same moment have both written their notes
inline constexpr double kSettleSeconds = 1;

/// A lock has two voices, the kernel's and the note's; each answer needs both.
class NoteLock {
 public:
  /// How it is known that another process has the lock.
  enum class Seen {
    kDenied,      ///< the store refuses the advisory lock
    kNoteMoves,   ///< its note changed while it was watched
    kSameMoment,  ///< it claimed the lock when we did, and its note stands
  };
  /// Makes the error for a lock that `holder` has (not ok: its note cannot be read); self.heartbeat is when it began.
  using Refusal = std::function<Status(const Result<LockOwner>& holder, const LockOwner& self, Seen seen)>;

  /// Takes the lock on `path`. Where the advisory lock does not tell whether a holder lives, watches its note. The lock
  /// counts after settle(). `disposable`: after an error nothing of the file may stay.
  /// \error what `refuse` makes (a holder lives), kNotFound (the file lost its name meanwhile: try again), kFailed
  static Result<std::unique_ptr<NoteLock>> claim(Fs& fs, const std::string& path, LockOwner self, const Refusal& refuse,
                                                 const LockWait& wait, bool disposable = false);
  /// Where another host may have claimed one of `locks` in the same moment, waits a little and looks who has it. Then
  /// starts the heartbeats.
  static Status settle(std::span<const std::unique_ptr<NoteLock>> locks);
  /// Writes into the note that the holder has ended, so that nobody has to watch it.
  ~NoteLock();
  NoteLock(const NoteLock&) = delete;
  NoteLock& operator=(const NoteLock&) = delete;

  /// Calls beat() with the present time where the last beat is kBeatSeconds old; else returns what the last one found.
  Status pulse();
  /// Refreshes the note. \error kLocked when another process has taken the lock: stop writing into the folder
  Status beat(double now);
  /// Looks at the note anew. \error kLocked when another process has taken the lock, or somebody removed it
  Status still_ours() const;
  /// What a heartbeat found out: kLocked once the lock is lost. Reads nothing, and waits for no heartbeat.
  Status lost() const;
  /// Ends the heartbeat: the lock is about to be given up.
  void stop_beating();
  /// A random text that only the note of this claim has.
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
  bool rivals_possible_ = false;                   // others may have claimed it in the same moment
  mutable Mutex mutex_;                            // of the file, too
  double last_beat_ TITAN_GUARDED_BY(mutex_) = 0;  // of wait_.now
  bool closing_ TITAN_GUARDED_BY(mutex_) = false;
  mutable Mutex lost_mutex_;  // held for no reading or writing: who asks each step must not wait for a store
  Status lost_ TITAN_GUARDED_BY(lost_mutex_);
  Condition wake_;
  std::thread thread_;
};

}  // namespace titan::ckpt
