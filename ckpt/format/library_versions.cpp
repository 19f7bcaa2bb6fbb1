#include "ckpt/format/library_versions.h"

#include <hdf5.h>
#include <xxhash.h>
#include <zstd.h>

namespace titan::ckpt {

namespace {

std::string dotted(unsigned major, unsigned minor, unsigned release) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace

std::string hdf5_version() { return dotted(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE); }
std::string zstd_version() { return ZSTD_versionString(); }
std::string xxhash_version() { return dotted(XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE); }

}  // namespace titan::ckpt
