#include "ckpt/lock/note_lock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <system_error>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/host.h"
#include "ckpt/base/random_id.h"

namespace titan::ckpt {
namespace {

constexpr double kLookSeconds = 1;

bool same_claim(const LockOwner& a, const LockOwner& b) {
  return a.host == b.host && a.boot_id == b.boot_id && a.pid == b.pid && a.since == b.since && a.mark == b.mark;
}

Result<std::string> read_text(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> data, read_file(fs, path, kMostNoteBytes));
  return std::string(reinterpret_cast<const char*>(data.data()), data.size());
}

void say_once_that_notes_decide(const std::string& path, const LockWait& wait) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  wait.say(
      "the store of " + path +
      " has no file locks: runs and tools exclude each other by their notes alone, and a start after a crash waits " +
      std::to_string(static_cast<int>(kSilenceSeconds)) +
      " s (Lustre has file locks where it is mounted with -o flock)");
}

// Whether the writer of the note `text` may be alive although this process has the advisory lock.
bool may_be_alive(const std::string& text, const Result<LockOwner>& holder, const LockOwner& self, LockReach reach) {
  if (text.empty()) return false;  // its process died before it wrote a note
  if (!holder.ok()) return reach != LockReach::kKernel;
  if (holder->heartbeat == 0) return false;
  return reach == LockReach::kNone || !same_kernel(*holder, self);
}

// Returns ok once the last holder is known to be dead.
Status watch(Fs& fs, const std::string& path, const std::string& first, const LockOwner& self,
             const NoteLock::Refusal& refuse, const LockWait& wait) {
  const auto holder = decode_lock_owner(first);
  wait.say("watching " + path + " for up to " + std::to_string(static_cast<int>(kSilenceSeconds)) +
           " s: " + (holder.ok() ? describe(*holder) : "a process that left no readable note") +
           " may hold it without this host seeing that");
  double last = wait.now();
  for (double silent = 0; silent < kSilenceSeconds;) {
    TITAN_RETURN_IF_ERROR(wait.cancel.check());
    wait.sleep(kLookSeconds);
    const auto text = read_text(fs, path);
    if (!text.ok() && text.status().code != Code::kCorrupt)
      return text.status();  // kCorrupt: the file became shorter while it was read
    if (!text.ok() || *text != first) {
      const auto changed = decode_lock_owner(text.ok() ? *text : "");
      if (changed.ok() && changed->heartbeat == 0) return ok_status();
      return refuse(changed, self, NoteLock::Evidence::kNoteMoves);
    }
    // While the store hangs, the holder cannot write a heartbeat either. So a slow read counts as at most 2 s.
    const double now = wait.now();
    silent += std::min(now - last, 2 * kLookSeconds);
    last = now;
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<NoteLock>> NoteLock::claim(Fs& fs, const std::string& path, LockOwner self,
                                                  const Refusal& refuse, const LockWait& wait, bool disposable) {
  self.mark = random_id();
  Result<std::unique_ptr<FileLock>> lock = fs.lock(path);
  if (!lock.ok()) {
    if (lock.status().code != Code::kLocked) return lock.status();
    const std::vector<std::string>& causes = lock.status().causes;
    return refuse(decode_lock_owner(causes.empty() ? "" : causes.front()), self, Evidence::kDenied);
  }
  const LockReach reach = (*lock)->reach();
  if (reach == LockReach::kNone) say_once_that_notes_decide(path, wait);
  bool ours = reach == LockReach::kKernel;  // the lock is certainly ours, so the file may be removed
  bool watched = false;
  const Status written = [&]() -> Status {
    const auto text = read_text(fs, path);
    if (!text.ok() && text.status().code != Code::kCorrupt) return text.status();
    const std::string first = text.ok() ? *text : "too long for a note";
    ours = ours || first.empty();
    watched = may_be_alive(first, decode_lock_owner(first), self, reach);
    if (watched) TITAN_RETURN_IF_ERROR(watch(fs, path, first, self, refuse, wait));
    const std::string note = encode_lock_owner(self);
    TITAN_RETURN_IF_ERROR((*lock)->write(note));
    // The previous holder may have removed the file when it ended. A lock on a removed file excludes nobody.
    const auto back = read_text(fs, path);
    if (!back.ok() && back.status().code != Code::kNotFound && back.status().code != Code::kCorrupt)
      return back.status();
    if (!back.ok() || *back != note) return not_found(path + " was replaced while its lock was taken");
    return ok_status();
  }();
  if (!written.ok()) {
    const bool failure = written.code != Code::kLocked && written.code != Code::kNotFound;
    if (disposable && ours && failure) (void)fs.remove_file(path);
    return written;
  }
  std::unique_ptr<NoteLock> claimed(new NoteLock(fs, path, std::move(*lock), std::move(self), refuse, wait));
  claimed->rivals_possible_ = watched || reach != LockReach::kKernel;
  return claimed;
}

Status NoteLock::settle(std::span<const std::unique_ptr<NoteLock>> locks) {
  const auto unsettled =
      std::find_if(locks.begin(), locks.end(), [](const auto& lock) { return lock->rivals_possible_; });
  if (unsettled != locks.end()) (*unsettled)->wait_.sleep(kSettleSeconds);
  for (const auto& lock : locks) {
    if (lock->rivals_possible_) {
      const Status ours = lock->still_ours();
      if (!ours.ok()) return ours.code == Code::kLocked ? lock->refused() : ours;
    }
    lock->rivals_possible_ = false;
    lock->start_beating();
  }
  return ok_status();
}

NoteLock::NoteLock(Fs& fs, std::string path, std::unique_ptr<FileLock> lock, LockOwner self, Refusal refuse,
                   const LockWait& wait)
    : fs_(fs),
      path_(std::move(path)),
      lock_(std::move(lock)),
      self_(std::move(self)),
      refuse_(std::move(refuse)),
      wait_(wait),
      last_beat_(wait.now()) {}

void NoteLock::stop_beating() {
  {
    const MutexLock guard(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

NoteLock::~NoteLock() {
  stop_beating();
  try {
    if (!look().ok()) return;
    self_.heartbeat = 0;
    Status ignored = lock_->write(encode_lock_owner(self_));  // on an error the next process watches the note
    (void)ignored;
  } catch (const std::bad_alloc&) {
    // Out of memory: the note stays unchanged, as after a kill.
  }
}

Status NoteLock::look() const {
  const auto text = read_text(fs_, path_);
  if (!text.ok() && text.status().code == Code::kNotFound)
    return locked(path_ + " was removed while this process held it: another one may work in this folder")
        .with_hint(
            "was its store unmounted, or the folder moved away? see what is there now before anything is started "
            "again");
  if (!text.ok() && text.status().code != Code::kCorrupt) return text.status();
  const auto holder = decode_lock_owner(text.ok() ? *text : "");
  if (!holder.ok()) return locked(path_ + " no longer has the note of this process, which held it");
  if (same_claim(*holder, self_)) return ok_status();
  return locked(path_ + " was taken over by process " + std::to_string(holder->pid) + " on host " + holder->host +
                " at " + holder->since)
      .with_hint("this process was silent for too long: the other one continues");
}

Status NoteLock::refused() const {
  const auto text = read_text(fs_, path_);
  return refuse_(decode_lock_owner(text.ok() ? *text : ""), self_, Evidence::kSameMoment);
}

Status NoteLock::still_ours() const {
  const MutexLock guard(mutex_);
  return look();
}

Status NoteLock::lost() const {
  const MutexLock guard(lost_mutex_);
  return lost_;
}

Status NoteLock::pulse() {
  TITAN_RETURN_IF_ERROR(lost());
  const MutexLock guard(mutex_);
  return wait_.now() - last_beat_ < kBeatSeconds ? ok_status() : beat_locked(seconds_since_epoch());
}

Status NoteLock::beat(double now) {
  const MutexLock guard(mutex_);
  return beat_locked(now);
}

Status NoteLock::beat_locked(double now) {
  const Status ours = look();
  if (ours.code == Code::kLocked) {
    const MutexLock guard(lost_mutex_);
    lost_ = ours;
  }
  TITAN_RETURN_IF_ERROR(ours);
  self_.heartbeat = now == self_.heartbeat ? now + 0.001 : now;  // a note that does not change looks dead
  last_beat_ = wait_.now();
  return lock_->write(encode_lock_owner(self_));
}

void NoteLock::start_beating() {
  if (!wait_.beats) return;
  try {
    thread_ = std::thread([this] { beat_until_closed(); });
  } catch (const std::system_error&) {
    // The system gives no thread: pulse() then writes the heartbeat.
  }
}

void NoteLock::beat_until_closed() {
  MutexLock guard(mutex_);
  std::string said;
  while (true) {
    const auto next =
        std::chrono::steady_clock::now() +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(kBeatSeconds));
    while (!closing_ && wake_.wait_until(guard, next) == std::cv_status::no_timeout) {}
    if (closing_) return;
    const Status status = beat_locked(seconds_since_epoch());
    if (!status.ok() && status.message != said) wait_.say("heartbeat: " + status.message);
    said = status.message;
    if (!lost().ok()) return;
  }
}

}  // namespace titan::ckpt
