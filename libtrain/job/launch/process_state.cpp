#include "libtrain/job/launch/process_state.h"

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

namespace titan::train {
namespace {

/// What /proc/PID/stat says, see proc(5).
struct Stat {
  char state = '\0';          ///< '\0' if the file could not be read
  unsigned long flags = 0;    ///< PF_ constants of the kernel's sched.h
  unsigned long pending = 0;  ///< signals that wait for the main thread, the lowest bit for signal 1
};

Stat stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the program's name may contain parentheses, too
  Stat stat;
  if (name_end == std::string::npos) return stat;
  std::istringstream fields(text.substr(name_end + 1));
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 9; ++field) fields >> skipped;
  fields >> stat.flags;
  for (int field = 10; field < 31; ++field) fields >> skipped;
  fields >> stat.pending;
  return stat;
}

}  // namespace

bool is_stopped(pid_t pid) { return stat_of(pid).state == 'T'; }

bool has_ended(pid_t pid) {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  constexpr unsigned long exiting = 0x4;  // PF_EXITING
  const Stat stat = stat_of(pid);
  return stat.state == 'Z' || stat.state == 'X' || (stat.flags & exiting) != 0 ||
         (stat.pending & 1UL << (SIGKILL - 1)) != 0;
}

ckpt::Status check_open_files(std::uint64_t limit) {
  if (limit >= kLeastOpenFiles) return ckpt::ok_status();
  return ckpt::failed("a process may open " + std::to_string(limit) +
                      " files here (ulimit -n), a rank needs at least " + std::to_string(kLeastOpenFiles))
      .with_hint("ulimit -n 1024");
}

ckpt::Status check_process_limits() {
  rlimit files{};
  // If the limit is not known, an open that fails for it reports the error.
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return ckpt::ok_status();
  return check_open_files(files.rlim_cur);
}

std::optional<unsigned long long> memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  unsigned long long value = 0;
  while (file >> name >> value)
    if (name == "oom_kill") return value;
  return std::nullopt;
}

std::string sigkill_hint(std::optional<unsigned long long> before) {
  const auto now = memory_kills();
  if (!before || !now) return "SIGKILL is often the kernel's out-of-memory killer: `dmesg | tail` would say so";
  if (*now > *before)
    return "the kernel's out-of-memory killer has struck meanwhile (`dmesg | tail`): fewer ranks on this host, or "
           "smaller micro-batches, need less memory";
  return "not the kernel's out-of-memory killer, which has killed nothing since this start: a batch system, a "
         "container's end or a person sends SIGKILL, too";
}

}  // namespace titan::train
