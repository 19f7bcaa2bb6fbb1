#include "ckpt/format/format_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/format/member_names.h"

namespace titan::ckpt::format_limits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FormatLimits, AreWarnedOfBeyondTheirHalf) {
  Manifest manifest;
  const std::uint64_t half = max_json_bytes("train_state.json") / 2;
  manifest.files = {{.path = "train_state.json", .role = FileRole::kJson, .bytes = half},
                    {.path = "model/shard-00000.h5", .bytes = std::uint64_t{1} << 50}};
  EXPECT_THAT(near_limits(manifest), IsEmpty());
  manifest.files[0].bytes = half + 1;
  EXPECT_THAT(
      near_limits(manifest),
      ElementsAre("train_state.json takes 8.0 MiB of at most 16.0 MiB; no checkpoint can be saved once it needs "
                  "more"));
  manifest.files[0].path = "dataloader.json";
  EXPECT_THAT(near_limits(manifest), IsEmpty()) << "of at most 64 MiB";
}

TEST(FormatLimits, TheManifestIsMeasuredAsAReaderDoes) {
  Manifest manifest;
  StoredTensor tensor;
  tensor.pieces.resize(100'000);  // 20 MB
  ParameterRecord record;
  record.model = tensor;
  manifest.parameters = {record};
  EXPECT_THAT(near_limits(manifest), IsEmpty());
  manifest.parameters[0].slots = {{"exp_avg", tensor}, {"exp_avg_sq", tensor}};
  EXPECT_THAT(
      near_limits(manifest),
      ElementsAre("in memory the manifest takes 57.2 MiB of at most 96.0 MiB; no checkpoint can be saved once it "
                  "needs more"));
  manifest.parameters.clear();
  manifest.config = {{"key", std::string(kMaxManifestMemory / 2, 'x')}};
  EXPECT_EQ(near_limits(manifest).size(), 1u);
}

}  // namespace
}  // namespace titan::ckpt::format_limits_test
