#include "converters/fused_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::convert::fused_experts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FusedExperts, HaveTheirPartsInARow) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> firsts;
  for (const ExpertPart& part : expert_parts("a.mlp.experts.gate_up_proj", {2, 6, 5})) {
    names.push_back(part.name);
    firsts.push_back(part.first());
    EXPECT_EQ(part.shape, (std::vector<std::uint64_t>{3, 5}));
  }
  EXPECT_THAT(names, ElementsAre("a.mlp.experts.0.gate_proj.weight", "a.mlp.experts.0.up_proj.weight",
                                 "a.mlp.experts.1.gate_proj.weight", "a.mlp.experts.1.up_proj.weight"));
  EXPECT_THAT(firsts, ElementsAre(0, 15, 30, 45));
  const std::vector<ExpertPart> down = expert_parts("a.mlp.experts.down_proj", {2, 6, 5});
  ASSERT_EQ(down.size(), 2u);
  EXPECT_EQ(down[1].name, "a.mlp.experts.1.down_proj.weight");
  EXPECT_EQ(down[1].first(), 30u);
  EXPECT_EQ(first_expert("a.mlp.experts.down_proj"), "a.mlp.experts.0.down_proj.weight");
  EXPECT_EQ(first_expert("a.mlp.down_proj.weight"), "a.mlp.down_proj.weight");
}

TEST(FusedExperts, AreNoOtherTensors) {
  for (const char* name : {"a.mlp.experts.0.down_proj.weight", "a.mlp.down_proj", ""})
    EXPECT_THAT(expert_parts(name, {2, 6, 5}), IsEmpty()) << name;
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{6, 5}, {2, 7, 5}, {std::uint64_t{1} << 40, 2, 1}, {}})
    EXPECT_THAT(expert_parts("experts.gate_up_proj", shape), IsEmpty()) << "of such a shape";
}

}  // namespace
}  // namespace titan::convert::fused_experts_test
