#include "libtrain/job/reduction/segment_row.h"

#include <gmock/gmock.h>

#include "tests/libtrain/support/llama_shapes.h"

namespace titan::train::segment_row_test {
namespace {

using namespace titan::test;
using testing::ElementsAre;

TEST(SegmentRow, IsCutAnywhere) {
  SegmentRow row;
  row.add({3, 100, 10});
  row.add({4, 0, 0});
  row.add({5, 20, 6});
  EXPECT_EQ(row.length(), 16);
  EXPECT_THAT(row.cut(0, 16), ElementsAre(Segment{3, 100, 10}, Segment{5, 20, 6}));
  EXPECT_THAT(row.cut(4, 12), ElementsAre(Segment{3, 104, 6}, Segment{5, 20, 2}));
  EXPECT_THAT(row.cut(10, 99), ElementsAre(Segment{5, 20, 6}));
  EXPECT_THAT(row.cut(16, 32), ElementsAre());
}

TEST(OwnerRows, CoverEverySlotOnceAndATiedHeadAsItsEmbedding) {
  for (const bool tied : {false, true}) {
    const recipe::RunPlan plan = llama_plan("1B", 6, 6, tied);
    std::vector<std::int64_t> next(plan.parameters.size() + (tied ? 1 : 0));
    for (const SegmentRow& row : llama_rows(plan)) {
      for (const Segment& segment : row.segments()) {
        EXPECT_EQ(segment.begin, next[segment.summand]) << "summand " << segment.summand;
        next[segment.summand] = segment.end();
      }
    }
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
      EXPECT_EQ(next[i], static_cast<std::int64_t>(ckpt::element_count(plan.parameters[i].shape)));
    if (tied) {
      EXPECT_EQ(next.back(), next.front());
    }
  }
}

}  // namespace
}  // namespace titan::train::segment_row_test
