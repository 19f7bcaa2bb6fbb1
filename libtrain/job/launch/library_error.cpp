#include "libtrain/job/launch/library_error.h"

#include <sstream>

namespace titan::train {

std::string first_line(const std::string& what) { return what.substr(0, what.find('\n')); }

std::string without_stack(const std::string& what) {
  const std::string lines = what.substr(0, what.find("\nException raised from "));
  return lines.substr(0, lines.find_last_not_of('\n') + 1);
}

ckpt::Status library_failure(const std::string& before, const std::string& what) {
  ckpt::Status status = ckpt::failed(before + ": " + first_line(what));
  std::istringstream lines(without_stack(what));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (!line.empty()) status.causes.push_back(line);
  // NCCL's "Last error:" is often followed by nothing.
  if (!status.causes.empty() && status.causes.back().ends_with(':')) status.causes.pop_back();
  return status;
}

}  // namespace titan::train
