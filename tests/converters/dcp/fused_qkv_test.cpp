#include "converters/dcp/fused_qkv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "converters/dcp/dcp_checkpoint.h"
#include "converters/view.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::fused_qkv_test {
namespace {

using ::testing::ElementsAre;

constexpr const char* kFused = "layers.3.attention.qkv_linear.wqkv.weight";

TEST(FusedQkv, HasThreePartsUnderOurNames) {
  const std::vector<FusedPart> parts = fused_parts(kFused, 3, 4);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].parameter, "layers.3.attention.wq.weight");
  EXPECT_EQ(parts[1].parameter, "layers.3.attention.wk.weight");
  EXPECT_EQ(parts[2].parameter, "layers.3.attention.wv.weight");
  EXPECT_EQ(parts[0].blocks, (RowBlocks{12, 20, 0}));
  EXPECT_EQ(parts[1].blocks, (RowBlocks{4, 20, 12}));
  EXPECT_EQ(parts[2].blocks, (RowBlocks{4, 20, 16}));
  for (const char* name : {"layers.3.attention.qkv_linear.wq.weight", "layers.3.attention.wqkv.weight", "wqkv", ""})
    EXPECT_FALSE(is_fused_qkv(name)) << name;
}

// Two heads of keys, two of queries each, two rows a head, three columns: element j of the tensor is j.
TEST(FusedQkv, RowsAreReadFromWhereTheyLie) {
  ckpt::testing::MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{kFused, {16, 3}, {{5}}}}, {}).ok());
  const auto source = dcp_format().open(fs, "/d");
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  const auto rows = [&](std::size_t part, std::uint64_t head_dim) {
    const FusedPart one = fused_parts(kFused, 2, 2)[part];
    ImportPlan plan;
    plan.parameters = {{one.parameter, {part == 0 ? 8u : 4u, 3}}};
    plan.tensors = {{{0, ""}, 0, head_dim, false, one.blocks}};
    EXPECT_EQ(bytes_of(**source, plan.tensors[0]), (part == 0 ? 8u : 4u) * 3 * sizeof(float));
    std::vector<float> elements((part == 0 ? 8 : 4) * 3), first;
    const PlannedReader reader(**source, plan);
    // In two reads, of which the second begins within a row.
    const auto bytes = std::as_writable_bytes(std::span(elements));
    EXPECT_TRUE(reader.read(0, 0, bytes.first(4 * sizeof(float))).ok());
    EXPECT_TRUE(reader.read(0, 4, bytes.subspan(4 * sizeof(float))).ok());
    for (std::size_t i = 0; i < elements.size(); i += 3) {
      EXPECT_EQ(elements[i + 2], elements[i] + 2);
      first.push_back(elements[i] / 3);
    }
    return first;
  };
  EXPECT_THAT(rows(0, 0), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(rows(1, 0), ElementsAre(4, 5, 12, 13));
  EXPECT_THAT(rows(2, 0), ElementsAre(6, 7, 14, 15));
  EXPECT_THAT(rows(0, 4), ElementsAre(0, 2, 1, 3, 8, 10, 9, 11)) << "in halves as well";
}

}  // namespace
}  // namespace titan::convert::dcp::fused_qkv_test
