#include "libtrain/job/launch/process_state.h"

#include <csignal>

#include <cerrno>
#include <fstream>
#include <string>

namespace titan::train {
namespace {

/// The letter of /proc/PID/stat, see proc(5); 0 where there is none.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the program's name may hold anything
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

}  // namespace titan::train
