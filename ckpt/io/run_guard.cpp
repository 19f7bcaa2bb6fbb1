#include "ckpt/io/run_guard.h"

#include <algorithm>
#include <optional>

namespace titan::ckpt {
namespace {

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Other programs have files of that name too.
bool has_lock(Fs& fs, const std::string& folder) {
  const std::string path = join_path(folder, kRunLockFile);
  const auto info = fs.stat(path);
  if (!info.ok() || info->type != FileType::kFile) return false;
  std::string begin(std::min<std::uint64_t>(info->size, kLockPrefix.size()), '\0');
  const auto file = fs.open_read(path);
  // What cannot be read is taken for ours; so is an empty file, of a run that died before it wrote its note.
  if (!file.ok() || !(*file)->pread(0, std::as_writable_bytes(std::span(begin))).ok()) return true;
  return kLockPrefix.starts_with(begin);
}

// Upwards by the text of a path alone, as far as that says where up is.
std::optional<std::string> nearest_lock(Fs& fs, std::string folder) {
  for (;; folder = without_slashes(parent_path(folder))) {
    if (has_lock(fs, folder)) return folder;
    if (folder == "/" || base_name(folder) == "." || base_name(folder) == "..") return std::nullopt;
  }
}

bool same_folder(Fs& fs, const std::string& a, const std::string& b) {
  const auto real_a = fs.real_path(a), real_b = fs.real_path(b);
  return real_a.ok() && real_b.ok() ? *real_a == *real_b : a == b;
}

}  // namespace

std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps) {
  const std::string typed = without_slashes(folder);
  const auto resolved = fs.real_path(typed);
  const std::string real = resolved.ok() ? *resolved : typed;
  std::vector<std::string> runs;
  if (const auto nearest = nearest_lock(fs, typed)) runs.push_back(*nearest);
  else if (const auto linked = nearest_lock(fs, real)) runs.push_back(*linked);
  if (!steps) return runs;
  if (base_name(typed) == "checkpoint" || base_name(real) == "checkpoint") {
    const std::string above = base_name(typed) == "checkpoint" ? parent_path(typed) : parent_path(real);
    if (runs.empty() || !same_folder(fs, runs.front(), above)) runs.push_back(above);
  } else if (runs.empty()) {
    runs.push_back(typed);
  }
  return runs;
}

Result<RunGuard> RunGuard::take(Fs& fs, const std::string& folder, bool steps) {
  RunGuard guard;
  for (const std::string& run : runs_around(fs, folder, steps)) {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<RunLock> lock, RunLock::take(fs, run, this_process()));
    guard.locks_.push_back(std::move(lock));
  }
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

}  // namespace titan::ckpt
