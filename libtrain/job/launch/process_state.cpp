#include "libtrain/job/launch/process_state.h"

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

namespace titan::train {
namespace {

/// The state letter in /proc/PID/stat, see proc(5); 0 if there is none.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the program's name may contain parentheses, too
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '\0';
}

}  // namespace

bool is_stopped(pid_t pid) { return state_of(pid) == 'T'; }

bool has_ended(pid_t pid) {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  const char state = state_of(pid);
  return state == 'Z' || state == 'X';
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
