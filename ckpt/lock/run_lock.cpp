#include "ckpt/lock/run_lock.h"
#include "ckpt/base/quoting.h"

#include <cmath>
#include <fstream>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {
namespace {

constexpr double kStrangeAge = 60;

/// The command line of a process of this host; empty if it has ended or cannot be read. Kernel state, not storage: does
/// not go through Fs.
std::string command_of(std::uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) line += (line.empty() ? "" : " ") + word;
  return line;
}

Status refuse(const std::string& folder, const std::string& path, const Result<LockOwner>& holder,
              const LockOwner& self, NoteLock::Evidence seen) {
  if (!holder.ok())
    return locked(folder + " is locked by another process, which left no readable note in " + path)
        .with_hint("wait until it ends, or use another folder");
  Status status = locked(folder + " is locked by a live run or tool: " + describe(*holder));
  if (const std::string command = same_kernel(*holder, self) ? command_of(holder->pid) : ""; !command.empty())
    status.causes.push_back("its command is " + command);
  if (seen == NoteLock::Evidence::kNoteMoves)
    status.causes.push_back("its note in " + path + " changed while it was watched");
  if (seen == NoteLock::Evidence::kSameMoment)
    status.causes.push_back("it took " + path + " in the same moment as this process");
  if (seen == NoteLock::Evidence::kDenied && holder->heartbeat > 0) {
    const auto age = static_cast<long long>(std::round(self.heartbeat - holder->heartbeat));
    status.causes.push_back("its last heartbeat in " + path + " is " + std::to_string(std::llabs(age)) +
                            (age >= 0 ? " s old" : " s in the future by the clock of this host"));
    if (!same_kernel(*holder, self) && std::llabs(age) >= kStrangeAge)
      return status.with_hint("if host " + holder->host + " is dead and its file server still keeps the lock: rm " +
                              shell_word(path));
  }
  return status.with_hint("stop that run first, or wait until the tool ends; or use another folder");
}

}  // namespace

Result<std::unique_ptr<NoteLock>> RunLock::claim(Fs& fs, const std::string& folder, const LockOwner& self,
                                                 const LockWait& wait) {
  const std::string path = join_path(folder, kRunLockFile);
  const auto refusal = [folder, path](const Result<LockOwner>& holder, const LockOwner& own, NoteLock::Evidence seen) {
    return refuse(folder, path, holder, own, seen);
  };
  Result<std::unique_ptr<NoteLock>> lock = not_found(path);
  for (int attempt = 0; attempt < 3; ++attempt) {
    lock = NoteLock::claim(fs, path, self, refusal, wait);
    if (lock.ok() || lock.status().code != Code::kNotFound) return lock;
  }
  return failed(lock.status().message);
}

Status RunLock::look(Fs& fs, const std::string& folder, const LockOwner& self) {
  const std::string path = join_path(folder, kRunLockFile);
  const auto data = read_file(fs, path, kMostNoteBytes);
  if (!data.ok()) return data.status().code == Code::kNotFound ? ok_status() : data.status();
  const auto holder = decode_lock_owner(std::string(reinterpret_cast<const char*>(data->data()), data->size()));
  if (!holder.ok() || !may_live(*holder, self, self.heartbeat)) return ok_status();
  return refuse(folder, path, holder, self, NoteLock::Evidence::kDenied);
}

Result<std::unique_ptr<NoteLock>> RunLock::take(Fs& fs, const std::string& folder, LockOwner self,
                                                const LockWait& wait) {
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<NoteLock> lock, claim(fs, folder, self, wait));
  TITAN_RETURN_IF_ERROR(NoteLock::settle({&lock, 1}));
  return lock;
}

}  // namespace titan::ckpt
