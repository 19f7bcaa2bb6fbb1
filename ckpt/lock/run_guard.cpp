#include "ckpt/lock/run_guard.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {
namespace {

// Other programs also use this file name, so the content is checked.
bool has_lock(Fs& fs, const std::string& folder) {
  const std::string path = join_path(folder, kRunLockFile);
  const auto info = fs.stat(path);
  if (!info.ok() || info->type != FileType::kFile) return false;
  std::string begin(std::min<std::uint64_t>(info->size, kLockPrefix.size()), '\0');
  const auto file = fs.open_read(path);
  // A file that cannot be read counts as a lock. So does an empty one: a run may have died before it wrote its note.
  if (!file.ok() || !(*file)->pread(0, std::as_writable_bytes(std::span(begin))).ok()) return true;
  return kLockPrefix.starts_with(begin);
}

// Walks up the path as typed; stops at "..", because the text of the path then does not name the parent. A folder of
// steps may have a lock in addition to that of its run; with `above` the search begins one folder higher.
std::optional<std::string> nearest_lock(Fs& fs, std::string folder, bool above) {
  for (;; folder = without_slashes(parent_path(folder)), above = false) {
    if (!above && has_lock(fs, folder)) return folder;
    if (folder == "/" || base_name(folder) == "." || base_name(folder) == "..") return std::nullopt;
  }
}

bool same_folder(Fs& fs, const std::string& a, const std::string& b) {
  const auto real_a = fs.real_path(a), real_b = fs.real_path(b);
  if (!real_a.ok() || !real_b.ok()) return a == b;
  if (*real_a == *real_b) return true;
  // A bind mount gives one folder two real paths.
  const auto one = fs.stat(*real_a), two = fs.stat(*real_b);
  return one.ok() && two.ok() && one->inode != 0 && one->device == two->device && one->inode == two->inode;
}

void add_folder(Fs& fs, std::vector<std::string>& folders, const std::string& folder) {
  for (const std::string& known : folders)
    if (same_folder(fs, known, folder)) return;
  folders.push_back(folder);
}

bool called_checkpoint(const std::string& path) { return base_name(path) == "checkpoint"; }

}  // namespace

std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps) {
  const std::string typed = without_slashes(folder);
  const auto resolved = fs.real_path(typed);
  const std::string real = resolved.ok() ? *resolved : typed;
  std::vector<std::string> runs;
  std::optional<std::string> nearest = nearest_lock(fs, typed, steps);
  if (!nearest) nearest = nearest_lock(fs, real, steps);
  if (!steps) {
    if (!nearest) return runs;
    const std::string above = parent_path(*nearest);
    if (called_checkpoint(*nearest) && has_lock(fs, above)) runs.push_back(above);
    runs.push_back(*nearest);
    return runs;
  }
  if (nearest) runs.push_back(*nearest);
  const std::string& named = called_checkpoint(typed) ? typed : real;
  if (called_checkpoint(named)) add_folder(fs, runs, parent_path(named));
  add_folder(fs, runs, real);
  return runs;
}

Result<RunGuard> RunGuard::take(Fs& fs, const std::string& folder, bool steps) {
  return take_all(fs, runs_around(fs, folder, steps));
}

Result<RunGuard> RunGuard::take_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  std::vector<std::string> folders{run_dir};
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(checkpoint_dir));
  add_folder(fs, folders, real);
  return take_all(fs, folders);
}

Status RunGuard::look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  std::vector<std::string> folders{run_dir};
  if (const auto real = fs.real_path(checkpoint_dir); real.ok()) add_folder(fs, folders, *real);
  for (const std::string& folder : folders) TITAN_RETURN_IF_ERROR(RunLock::look(fs, folder, this_process()));
  return ok_status();
}

Result<RunGuard> RunGuard::take_all(Fs& fs, const std::vector<std::string>& folders) {
  RunGuard guard;
  for (const std::string& folder : folders) {
    Result<std::unique_ptr<NoteLock>> lock = RunLock::claim(fs, folder, this_process());
    // The message names the folder, because the user did not type the path of the lock.
    if (lock.status().code == Code::kFailed) return lock.status().wrapped("the folder " + folder + " cannot be locked");
    if (!lock.ok()) return lock.status();
    guard.locks_.push_back(std::move(*lock));
  }
  TITAN_RETURN_IF_ERROR(NoteLock::settle(guard.locks_));
  return guard;
}

Status RunGuard::pulse() {
  for (const auto& lock : locks_) TITAN_RETURN_IF_ERROR(lock->pulse());
  return ok_status();
}

Status RunGuard::beat(double now) {
  for (const auto& lock : locks_) TITAN_RETURN_IF_ERROR(lock->beat(now));
  return ok_status();
}

Status RunGuard::still_ours() const {
  for (const auto& lock : locks_) TITAN_RETURN_IF_ERROR(lock->still_ours());
  return ok_status();
}

Status RunGuard::lost() const {
  for (const auto& lock : locks_) TITAN_RETURN_IF_ERROR(lock->lost());
  return ok_status();
}

bool RunGuard::beating() const {
  return std::all_of(locks_.begin(), locks_.end(), [](const auto& lock) { return lock->beating(); });
}

}  // namespace titan::ckpt
