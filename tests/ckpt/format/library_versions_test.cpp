#include "ckpt/format/library_versions.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <zstd.h>

namespace titan::ckpt::library_versions_test {
namespace {

TEST(LibraryVersions, AreThoseThatAreLinked) {
  unsigned major = 0, minor = 0, release = 0;
  ASSERT_GE(H5get_libversion(&major, &minor, &release), 0);
  EXPECT_EQ(hdf5_version(), std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release));
  EXPECT_EQ(zstd_version(), ZSTD_versionString());
  EXPECT_TRUE(xxhash_version().starts_with("0.8.")) << xxhash_version();
}

}  // namespace
}  // namespace titan::ckpt::library_versions_test
