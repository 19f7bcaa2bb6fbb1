#include "ckpt/format/manifest.h"

#include <gtest/gtest.h>

#include "tests/support/manifests.h"

namespace titan::ckpt::manifest_test {
namespace {

TEST(Manifest, FindsTensorsByNameAndRef) {
  const Manifest manifest = testing::small_manifest();
  const ParameterIndex index(manifest);
  EXPECT_EQ(index.find("norm.weight"), 1u);
  EXPECT_EQ(index.find("norm"), std::nullopt);
  EXPECT_EQ(manifest.stored({1, ""}), &*manifest.parameters[1].model);
  EXPECT_EQ(manifest.stored({1, kExpAvgSq}), &manifest.parameters[1].slots[1].tensor);
  EXPECT_EQ(manifest.stored({1, "momentum"}), nullptr);
  EXPECT_EQ(manifest.stored({9, ""}), nullptr);
  EXPECT_EQ(manifest.stored_name({1, kExpAvg}), "norm.weight.exp_avg");
  EXPECT_EQ(manifest.component("model")->files, 3u);
  EXPECT_EQ(manifest.component("nothing"), nullptr);
}

}  // namespace
}  // namespace titan::ckpt::manifest_test
