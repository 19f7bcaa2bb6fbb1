#include "cli/kit/version.h"

#include "titan_version.h"

namespace titan::cli {

std::string version() { return TITAN_VERSION; }
std::string git_hash() { return TITAN_GIT_HASH; }
std::string version_line(const std::string& program) { return program + " " + version() + " (" + git_hash() + ")"; }

}  // namespace titan::cli
