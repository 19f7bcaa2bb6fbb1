#include "ckpt/run/temporary.h"

#include <new>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/member_names.h"
#include "ckpt/lock/lock_wait.h"
#include "ckpt/run/recover.h"

namespace titan::ckpt {
namespace {

// Creates `folder` if it is missing and takes the lock in it. A tool that ends removes the lock file while it holds the
// lock; the lock is then taken again.
Result<std::unique_ptr<NoteLock>> lock_folder(Fs& fs, const std::string& folder, const std::string& dst) {
  const auto refuse = [dst](const Result<LockOwner>& holder, const LockOwner&, NoteLock::Evidence) {
    Status status = locked("another process is writing " + dst).with_hint("wait until it ends, or choose another name");
    if (holder.ok()) status.causes.push_back(describe(*holder));
    return status;
  };
  Status last;
  for (int attempt = 0; attempt < 20; ++attempt) {
    Status made = fs.make_dir(folder);  // may exist already
    Result<std::unique_ptr<NoteLock>> lock =
        NoteLock::claim(fs, join_path(folder, "lock"), this_process(), refuse, lock_wait(), true);
    if (lock.ok()) {
      TITAN_RETURN_IF_ERROR(NoteLock::settle({&*lock, 1}));
      return lock;
    }
    last = lock.status();
    if (last.code == Code::kLocked) return last;
    if (last.code != Code::kNotFound && fs.stat(folder).ok()) {
      (void)fs.remove_dir(folder);  // removes only an empty folder, so only one that this process made
      return last;
    }
    if (!made.ok() && !fs.stat(folder).ok()) return made;
    // The other tool has just removed the file or the folder: try again.
  }
  return last.code == Code::kNotFound ? failed(last.message) : last;
}

}  // namespace

Temporary::Temporary(Fs& fs, const std::string& dst)
    : fs_(fs), dst_(dst), folder_(dst + kRewriteSuffix), fresh_(rewrite_fresh(dst)), aside_(rewrite_aside(dst)) {}

Temporary::~Temporary() {
  if (kept_) return;
  try {
    (void)remove();
  } catch (const std::bad_alloc&) {
    // Out of memory: nothing is removed. The next tool cleans up.
  }
}

Result<std::unique_ptr<Temporary>> Temporary::take(Fs& fs, const std::string& dst) {
  std::unique_ptr<Temporary> temporary(new Temporary(fs, dst));
  temporary->keep();  // the folder has nothing of this process yet
  Result<std::unique_ptr<NoteLock>> lock = lock_folder(fs, temporary->folder_, dst);
  // The message names DST, because the user does not know the temporary folder.
  if (lock.status().code == Code::kFailed) return lock.status().wrapped(dst + " cannot be made");
  if (!lock.ok()) return lock.status();
  temporary->lock_ = std::move(*lock);
  const Status cleared = temporary->clear();
  // If the old checkpoint could not be moved back, or may be the only undamaged one, it stays for the next tool.
  const auto holds = [&](const std::string& path) { return fs.stat(path).status().code != Code::kNotFound; };
  temporary->kept_ = !cleared.ok() && (holds(temporary->aside_) || holds(join_path(temporary->fresh_, kManifestFile)));
  TITAN_RETURN_IF_ERROR(cleared);
  return temporary;
}

// Until DST exists and is undamaged, the checkpoint that was moved aside may be the only copy.
Status Temporary::clear() {
  TITAN_RETURN_IF_ERROR(put_back(fs_, dst_));
  const bool empty =
      fs_.stat(aside_).status().code == Code::kNotFound && fs_.stat(fresh_).status().code == Code::kNotFound;
  if (empty) return ok_status();
  // The dead tool may have renamed without a sync. DST must be durable before the checkpoint that it replaced is
  // removed.
  TITAN_RETURN_IF_ERROR(fs_.sync_dir(parent_path(dst_)));
  const CancelToken cancel = lock_wait().cancel;
  TITAN_RETURN_IF_ERROR(check_removable(fs_, dst_, cancel));
  TITAN_RETURN_IF_ERROR(remove_tree(fs_, aside_, cancel));
  return remove_tree(fs_, fresh_, cancel);
}

// The lock file is removed last: as long as it exists, the folder belongs to this process.
std::vector<std::string> Temporary::remove() {
  kept_ = true;
  std::vector<std::string> failures;
  if (const Status ours = still_ours(); ours.code == Code::kLocked)
    return {ours.message};  // the folder belongs to another tool now
  for (const std::string& path : {fresh_, aside_, join_path(folder_, "lock")}) {
    if (path.ends_with("/lock")) lock_->stop_beating();
    if (const Status removed = remove_tree(fs_, path); !removed.ok()) failures.push_back(removed.message);
  }
  Status removed = fs_.remove_dir(folder_);
  lock_.reset();
  // NFS keeps a removed file under another name while it is open, so the folder can be removed only now.
  if (!removed.ok() && removed.code != Code::kNotFound) removed = fs_.remove_dir(folder_);
  if (!removed.ok() && removed.code != Code::kNotFound) failures.push_back(removed.message);
  return failures;
}

}  // namespace titan::ckpt
