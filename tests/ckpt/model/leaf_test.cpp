#include "ckpt/model/leaf.h"

#include <gtest/gtest.h>

#include <vector>

namespace titan::ckpt::leaf_test {
namespace {

using Shape = std::vector<std::uint64_t>;

TEST(Leaf, ElementCountIsTheProductAndOneForAScalar) {
  EXPECT_EQ(element_count(Shape{}), 1u);
  EXPECT_EQ(element_count(Shape{3, 5}), 15u);
  EXPECT_EQ(element_count(Shape{3, 0, 5}), 0u);
}

TEST(Leaf, CheckedElementsRefusesMoreThan63Bits) {
  struct Case {
    Shape shape;
    bool fits;
    std::uint64_t count;
  };
  const std::uint64_t max = (std::uint64_t{1} << 63) - 1, big = std::uint64_t{1} << 32;
  for (const Case& c : {Case{{}, true, 1},
                        {{7, 2}, true, 14},
                        {{max}, true, max},
                        {{max, 1}, true, max},
                        {{max, 2}, false, 0},
                        {{max + 1}, false, 0},
                        {{big, big}, false, 0},
                        {{big, big / 2}, false, 0},
                        {{big, big / 4}, true, std::uint64_t{1} << 62},
                        {{big, big, 0}, true, 0},
                        {{0, max + 1}, false, 0},
                        {{~std::uint64_t{0}, ~std::uint64_t{0}}, false, 0}}) {
    std::uint64_t count = 0;
    EXPECT_EQ(checked_elements(c.shape, &count), c.fits) << ::testing::PrintToString(c.shape);
    EXPECT_EQ(count, c.count) << ::testing::PrintToString(c.shape);
  }
}

TEST(Leaf, GridCoversEveryElementOnceAndOnlyTheLastLeafIsShort) {
  for (std::uint64_t elements = 0; elements < 40; ++elements) {
    for (std::uint64_t leaf = 1; leaf < 12; ++leaf) {
      LeafGrid grid{elements, leaf};
      std::uint64_t covered = 0;
      for (std::uint64_t i = 0; i < grid.count(); ++i) {
        ASSERT_EQ(grid.begin(i), covered);
        ASSERT_GT(grid.length(i), 0u);
        ASSERT_EQ(grid.length(i), i + 1 < grid.count() ? leaf : elements - covered);
        covered += grid.length(i);
      }
      ASSERT_EQ(covered, elements);
      ASSERT_EQ(grid.begin(grid.count()), elements);
      ASSERT_EQ(grid.chunk_extent(), std::min(leaf, elements));
    }
  }
}

}  // namespace
}  // namespace titan::ckpt::leaf_test
