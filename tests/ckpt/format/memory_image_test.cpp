#include "ckpt/format/shard_file.h"

#include <gtest/gtest.h>

namespace titan::ckpt::memory_image_test {
namespace {

// The image is seen through what it is for: a file of many datasets, larger than any buffer of libhdf5, described by
// its metadata alone.
TEST(MemoryImage, HoldsTheMetadataOfManyDatasetsAndNoData) {
  std::vector<ShardPiece> pieces;
  for (int i = 0; i < 2000; ++i)
    pieces.push_back({"layers." + std::to_string(i) + ".weight", DType::kF32, {1'000'000, 262'144}, {0, 4}});
  const auto skeleton = make_skeleton(pieces);
  ASSERT_TRUE(skeleton.ok()) << skeleton.status().to_string();
  std::uint64_t metadata = 0, end = 0;
  for (const auto& extent : skeleton->metadata) {
    EXPECT_GE(extent.offset, end);
    end = extent.offset + extent.bytes.size();
    metadata += extent.bytes.size();
  }
  EXPECT_GT(skeleton->file_bytes, std::uint64_t{2000} * 4'000'000);
  EXPECT_LT(metadata, 2000u * 1024);
}

}  // namespace
}  // namespace titan::ckpt::memory_image_test
