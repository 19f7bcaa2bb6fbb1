#include "libtrain/job/host/program_folder.h"

#include <unistd.h>

#include <climits>

namespace titan::train {

std::string path_beside_program(const std::string& name, const std::string& folder) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string own = program.substr(0, program.rfind('/') + 1), sibling = own + name;
  return ::access(sibling.c_str(), F_OK) == 0 ? sibling : own + "../" + folder + "/" + name;
}

}  // namespace titan::train
