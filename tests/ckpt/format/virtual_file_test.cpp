#include "ckpt/format/virtual_file.h"

#include <gtest/gtest.h>

#include <random>

namespace titan::ckpt::virtual_file_test {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Row-major numbers of the elements of a box, in order.
std::vector<std::uint64_t> numbers(const Shape& shape, const Box& box) {
  std::vector<std::uint64_t> found;
  Shape index = box.start;
  for (std::uint64_t left = box.elements(); left > 0; --left) {
    std::uint64_t number = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
    found.push_back(number);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < box.start[d] + box.count[d]) break;
      index[d] = box.start[d];
    }
  }
  return found;
}

TEST(RowMajorBoxes, CutsAMatrixIntoHeadRowWholeRowsAndTailRow) {
  EXPECT_EQ(row_major_boxes({5, 4}, 2, 13), (std::vector<Box>{{{0, 2}, {1, 2}}, {{1, 0}, {2, 4}}, {{3, 0}, {1, 3}}}));
  EXPECT_EQ(row_major_boxes({5, 4}, 4, 16), (std::vector<Box>{{{1, 0}, {4, 4}}}));
  EXPECT_EQ(row_major_boxes({5, 4}, 5, 2), (std::vector<Box>{{{1, 1}, {1, 2}}}));
  EXPECT_EQ(row_major_boxes({12}, 5, 7), (std::vector<Box>{{{5}, {7}}}));
  EXPECT_EQ(row_major_boxes({}, 0, 1), (std::vector<Box>{{{}, {}}}));
  EXPECT_TRUE(row_major_boxes({3, 0}, 0, 0).empty());
}

TEST(RowMajorBoxes, AreConsecutiveRunsInOrderAndFew) {
  const std::uint64_t seed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Shape shape(1 + random() % 5);
    for (std::uint64_t& dimension : shape) dimension = 1 + random() % 5;
    const std::uint64_t all = element_count(shape), begin = random() % all, count = 1 + random() % (all - begin);
    const std::vector<Box> boxes = row_major_boxes(shape, begin, count);
    EXPECT_LE(boxes.size(), 2 * shape.size() - 1);
    std::uint64_t next = begin;
    for (const Box& box : boxes)
      for (const std::uint64_t number : numbers(shape, box)) ASSERT_EQ(number, next++) << "round " << round;
    ASSERT_EQ(next, begin + count);
  }
}

TEST(VirtualFile, IsDeterministicAndAFunctionOfTheLayout) {
  const std::vector<VirtualTensor> tensors{
      {"a/b%", DType::kBF16, {7, 11}, 20, {{"shard-00000.h5", {0, 2}}, {"shard-00001.h5", {2, 2}}}},
      {".", DType::kF32, {}, 20, {{"shard-00000.h5", {0, 1}}}},
      {"bfloat16", DType::kI64, {0, 3}, 20, {}}};
  const auto first = make_virtual_file(tensors), second = make_virtual_file(tensors);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_EQ(*first, *second);
  std::vector<VirtualTensor> other = tensors;
  other[0].pieces[1].file = "shard-00002.h5";
  EXPECT_NE(*make_virtual_file(other), *first);
}

TEST(VirtualFile, HoldsTheMappings) {
  const auto made =
      make_virtual_file({{"w", DType::kF32, {7, 11}, 20, {{"shard-00000.h5", {0, 2}}, {"shard-00017.h5", {2, 2}}}}});
  ASSERT_TRUE(made.ok());
  const std::string_view text(reinterpret_cast<const char*>(made->data()), made->size());
  for (const char* part : {"GCOL", "shard-00000.h5", "w@0", "shard-00017.h5", "w@2"})
    EXPECT_NE(text.find(part), text.npos) << part;
}

TEST(VirtualFile, RefusesEqualNames) {
  const VirtualTensor tensor{"w", DType::kF32, {2}, 20, {{"shard-00000.h5", {0, 1}}}};
  const auto made = make_virtual_file({tensor, tensor});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code, Code::kFailed);
  EXPECT_NE(made.status().message.find("'w'"), std::string::npos);
}

}  // namespace
}  // namespace titan::ckpt::virtual_file_test
