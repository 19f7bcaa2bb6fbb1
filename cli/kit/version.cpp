#include "cli/kit/version.h"

#include "ckpt/format/library_versions.h"
#include "ckpt/format/manifest.h"
#include "titan_version.h"

namespace titan::cli {

std::string version() { return TITAN_VERSION; }
std::string git_hash() { return TITAN_GIT_HASH; }
std::string version_line(const std::string& program) { return program + " " + version() + " (" + git_hash() + ")"; }

std::string version_details(const std::string& libraries_of_program) {
  std::string versions;
  for (std::uint32_t minor = 0; minor <= ckpt::kFormatMinor; ++minor)
    versions += (minor == 0 ? "" : ", ") + std::to_string(ckpt::kFormatMajor) + "." + std::to_string(minor);
  return "checkpoint formats: reads and writes " + versions + "\nlibraries: HDF5 " + ckpt::hdf5_version() + ", zstd " +
         ckpt::zstd_version() + ", xxHash " + ckpt::xxhash_version() + libraries_of_program + "\n";
}

}  // namespace titan::cli
