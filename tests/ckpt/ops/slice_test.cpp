#include "ckpt/ops/slice.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

namespace titan::ckpt::slice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<std::uint64_t>;

/// The source indices of a slice, in order.
std::vector<std::uint64_t> indices(const std::string& text, const Shape& shape) {
  const Result<Slice> slice = parse_slice(text, shape);
  EXPECT_TRUE(slice.ok()) << slice.status().to_string();
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; slice.ok() && i < slice->elements(); ++i) out.push_back(slice->source_index(i));
  return out;
}

TEST(Slice, ReadsIndicesAndRangesAsNumPyDoes) {
  struct Case {
    const char* text;
    Shape shape, result;
  };
  for (const Case& c : {Case{"[0]", {4, 6}, {6}},
                        {"[-1]", {4, 6}, {6}},
                        {"[1:3]", {4, 6}, {2, 6}},
                        {"[:, 2]", {4, 6}, {4}},
                        {"[ 0:10 , : ]", {40, 6}, {10, 6}},
                        {"[-2:, -3:-1]", {4, 6}, {2, 2}},
                        {"[:2, :]", {4, 6}, {2, 6}},
                        {"[0, 0]", {4, 6}, {}},
                        {"[2:1]", {4}, {0}},
                        {"[1:99]", {4}, {3}},
                        {"[-99:2]", {4}, {2}},
                        {"[:]", {0}, {0}}}) {
    const Result<Slice> slice = parse_slice(c.text, c.shape);
    ASSERT_TRUE(slice.ok()) << c.text << ": " << slice.status().to_string();
    EXPECT_EQ(slice->shape(), c.result) << c.text;
    EXPECT_EQ(slice->elements(),
              std::accumulate(c.result.begin(), c.result.end(), std::uint64_t{1}, std::multiplies<>()))
        << c.text;
  }
}

TEST(Slice, TakesTheRightElements) {
  EXPECT_THAT(indices("[1:3, 4:]", {4, 6}), ElementsAre(10, 11, 16, 17));
  EXPECT_THAT(indices("[:, 0]", {3, 2}), ElementsAre(0, 2, 4));
  EXPECT_THAT(indices("[-1, -1]", {3, 2}), ElementsAre(5));
  EXPECT_THAT(indices("[0:2, 1, :]", {2, 2, 2}), ElementsAre(2, 3, 6, 7));
}

TEST(Slice, CutsResultsIntoRunsThatLieSideBySide) {
  constexpr std::uint64_t kSeed = 31;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    Slice slice;
    for (std::size_t d = 0; d < 1 + random() % 4; ++d) {
      const std::uint64_t size = 1 + random() % 5, begin = random() % size;
      slice.source.push_back(size);
      slice.extents.push_back(random() % 2 == 0 ? Slice::Extent{0, size, false}
                                                : Slice::Extent{begin, begin + 1 + random() % (size - begin), false});
    }
    const std::uint64_t run = slice.run_length();
    ASSERT_EQ(slice.elements() % run, 0u);
    for (std::uint64_t i = 1; i < slice.elements(); ++i) {
      ASSERT_GT(slice.source_index(i), slice.source_index(i - 1));
      if (i % run != 0) {
        ASSERT_EQ(slice.source_index(i), slice.source_index(i - 1) + 1);
      }
    }
  }
}

TEST(Slice, RefusesWhatIsOutOfRangeOrNoIndex) {
  const Shape shape{4, 6};
  struct Case {
    const char *text, *message;
  };
  for (const Case& c : {Case{"[4]", "index 4 is out of range for dimension 0, which has 4 elements"},
                        {"[0, -7]", "index -7 is out of range for dimension 1"},
                        {"[0, 0, 0]", "has 3 indices, the tensor has 2 dimensions"},
                        {"[a]", "`a` is not an index"},
                        {"[]", "`` is not an index"},
                        {"[1.5]", "`1.5` is not an index"},
                        {"[1,]", "`` is not an index"},
                        {"[0:x]", "is not an index"},
                        {"[99999999999999999999]", "is not an index"}}) {
    const Result<Slice> slice = parse_slice(c.text, shape);
    EXPECT_EQ(slice.status().code, Code::kInvalid) << c.text;
    EXPECT_THAT(slice.status().message, HasSubstr(c.message)) << c.text;
  }
}

TEST(Slice, RefusesStepsByName) {
  const Result<Slice> slice = parse_slice("[0:4:2]", {4});
  EXPECT_EQ(slice.status().code, Code::kUnsupported);
  EXPECT_THAT(slice.status().message, HasSubstr("step"));
  EXPECT_THAT(slice.status().hint, HasSubstr("0:4"));
}

TEST(SplitSlice, TakesTheLastBracketsOff) {
  EXPECT_EQ(split_slice("a.b[0:1]"), (std::pair<std::string, std::string>("a.b", "[0:1]")));
  EXPECT_EQ(split_slice("a.b"), (std::pair<std::string, std::string>("a.b", "")));
  EXPECT_EQ(split_slice("a[0].b"), (std::pair<std::string, std::string>("a[0].b", "")));
}

}  // namespace
}  // namespace titan::ckpt::slice_test
