#include "ckpt/run/recover.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/lock/lock_wait.h"
#include "ckpt/lock/note_lock.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {
namespace {

bool is_rewrite(const DirEntry& entry) {
  return entry.type == FileType::kDirectory && entry.name.size() > std::string_view(kRewriteSuffix).size() &&
         entry.name.ends_with(kRewriteSuffix);
}

// Whether `path` exists. \error that of stat(), if it is unknown
Result<bool> is_there(Fs& fs, const std::string& path) {
  const Result<FileInfo> info = fs.stat(path);
  if (info.ok()) return true;
  if (info.status().code == Code::kNotFound) return false;
  return info.status();
}

// Takes the lock of the rewrite of `dst`, which proves that its tool is dead. Returns null if the tool is alive (sets
// `alive`), or if there is no lock file because it died early; this function does not make one.
Result<std::unique_ptr<NoteLock>> lock_of_dead_tool(Fs& fs, const std::string& dst, bool* alive) {
  *alive = false;
  TITAN_ASSIGN_OR_RETURN(const bool there, is_there(fs, rewrite_lock(dst)));
  if (!there) return std::unique_ptr<NoteLock>();
  const auto refuse = [](const Result<LockOwner>&, const LockOwner&, NoteLock::Evidence) {
    return locked("a tool works there");
  };
  Result<std::unique_ptr<NoteLock>> lock = NoteLock::claim(fs, rewrite_lock(dst), this_process(), refuse, lock_wait());
  const Status status = lock.ok() ? NoteLock::settle({&*lock, 1}) : lock.status();
  if (status.ok()) return lock;
  // kNotFound: the tool has just ended and removed its lock.
  if (status.code != Code::kLocked && status.code != Code::kNotFound) return status;
  *alive = true;
  return std::unique_ptr<NoteLock>();
}

// Recovers one rewrite, and with `clean` removes its folder. The lock file is removed last: as long as it exists, the
// folder belongs to this process.
Status recover_rewrite(Fs& fs, const std::string& dst, bool clean, std::vector<std::string>* restored) {
  bool alive = false;
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<NoteLock> lock, lock_of_dead_tool(fs, dst, &alive));
  if (alive) return ok_status();
  TITAN_ASSIGN_OR_RETURN(const bool before, is_there(fs, dst));
  TITAN_RETURN_IF_ERROR(put_back(fs, dst));
  TITAN_ASSIGN_OR_RETURN(const bool after, is_there(fs, dst));
  if (!before && after && restored != nullptr) restored->push_back(dst);
  if (!clean) return ok_status();
  const CancelToken cancel = lock_wait().cancel;
  TITAN_RETURN_IF_ERROR(check_removable(fs, dst, cancel));
  TITAN_RETURN_IF_ERROR(remove_tree(fs, rewrite_aside(dst), cancel));
  TITAN_RETURN_IF_ERROR(remove_tree(fs, rewrite_fresh(dst), cancel));
  if (lock) lock->stop_beating();
  const Status removed = remove_tree(fs, dst + kRewriteSuffix);
  if (removed.ok() || !lock) return removed;
  // NFS keeps a removed file under another name while it is open. Another tool may have started, so only an empty
  // folder is removed.
  lock.reset();
  return fs.remove_dir(dst + kRewriteSuffix).ok() ? ok_status() : removed;
}

std::vector<std::string> recover(Fs& fs, const std::string& folder, bool clean, std::vector<std::string>* restored) {
  std::vector<std::string> problems;
  const CancelToken cancel = lock_wait().cancel;
  const Result<std::vector<DirEntry>> entries = fs.list(folder);
  if (!entries.ok()) {
    if (entries.status().code != Code::kNotFound) problems.push_back(one_line(entries.status()));
    return problems;
  }
  // Dead processes may have renamed without a sync. The new names must be durable before the replaced files are
  // removed.
  if (clean && std::any_of(entries->begin(), entries->end(), is_leftover)) {
    const Status synced = fs.sync_dir(folder);
    clean = synced.ok();
    if (!clean) problems.push_back("cannot recover " + folder + ": " + one_line(synced));
  }
  for (const DirEntry& entry : *entries) {
    const std::string path = join_path(folder, entry.name);
    Status status;
    if (is_rewrite(entry)) {
      // If DST is not a step, the next tool that makes the same DST cleans up.
      const std::string dst = path.substr(0, path.size() - std::string_view(kRewriteSuffix).size());
      status = recover_rewrite(fs, dst, clean && is_leftover(entry), restored);
    } else if (clean && is_leftover(entry)) {
      const bool file = entry.type == FileType::kFile;
      if (file)
        status = cancel.check();
      else
        status = is_trash(entry) ? remove_trash(fs, folder, entry.name, cancel) : remove_tree(fs, path, cancel);
      if (file && status.ok()) status = fs.remove_file(path);
    }
    if (!status.ok()) problems.push_back("cannot recover " + path + ": " + one_line(status));
  }
  return problems;
}

}  // namespace

Status put_back(Fs& fs, const std::string& dst) {
  TITAN_ASSIGN_OR_RETURN(const bool aside, is_there(fs, rewrite_aside(dst)));
  if (!aside) return ok_status();
  TITAN_ASSIGN_OR_RETURN(const bool there, is_there(fs, dst));
  if (there) return ok_status();
  TITAN_RETURN_IF_ERROR(fs.rename_noreplace(rewrite_aside(dst), dst));
  return fs.sync_dir(parent_path(dst));
}

Status check_removable(Fs& fs, const std::string& dst, const CancelToken& cancel) {
  TITAN_ASSIGN_OR_RETURN(const bool there, is_there(fs, dst));
  if (!there) return ok_status();
  for (const std::string& left : {rewrite_aside(dst), rewrite_fresh(dst)}) {
    const Code code = CheckpointReader::open(fs, left).status().code;
    if (code == Code::kNotFound || code == Code::kCorrupt) continue;
    const Result<Digest> read = prove_step(fs, dst, cancel);
    if (read.ok()) return ok_status();
    TITAN_RETURN_IF_ERROR(cancel.check());
    Status kept = failed(dst + " is not whole, and " + left + " may be the only whole copy of it");
    kept.causes.push_back(read.status().message);
    return kept.with_hint("`titan-ckpt verify` shows what is damaged in each; move the one that you do not need away");
  }
  return ok_status();
}

std::vector<std::string> put_back_all(Fs& fs, const std::string& folder, std::vector<std::string>* restored) {
  return recover(fs, folder, false, restored);
}

std::vector<std::string> recover_folder(Fs& fs, const std::string& folder, std::vector<std::string>* restored) {
  return recover(fs, folder, true, restored);
}

}  // namespace titan::ckpt
