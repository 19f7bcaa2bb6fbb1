#include "converters/ordered_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ckpt/model/rope_permutation.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::ordered_reader_test {
namespace {

TEST(OrderedReader, PutsRowsOfEachHeadIntoHalvesWhateverIsReadAtATime) {
  ckpt::testing::MemFs fs;
  const auto published = ckpt::testing::make_checkpoint(fs, "/run", {.leaf_elements = 7});
  ASSERT_TRUE(published.ok());
  const auto source = ckpt::CheckpointReader::open(fs, published->path);
  ASSERT_TRUE(source.ok());
  const ckpt::ParameterIndex names(source->manifest());
  const ckpt::TensorRef ref{*names.find("layers.0.attention.wq.weight"), "exp_avg"};
  constexpr std::uint64_t kRows = 16, kRow = 16 * 4, kHeadDim = 8;
  std::vector<std::byte> plain(kRows * kRow), moved(plain.size());
  auto as_it_lies = OrderedReader::open(*source, ref, 0), in_halves = OrderedReader::open(*source, ref, kHeadDim);
  ASSERT_TRUE(as_it_lies.ok() && in_halves.ok());
  EXPECT_EQ(in_halves->elements(), kRows * 16);
  EXPECT_EQ(in_halves->stride() % (kHeadDim * 16), 0u);
  ASSERT_TRUE(as_it_lies->read(0, plain).ok());
  for (const std::uint64_t head : {0u, 1u}) {  // each alone
    const std::span<std::byte> part = std::span(moved).subspan(head * kHeadDim * kRow, kHeadDim * kRow);
    ASSERT_TRUE(in_halves->read(head * kHeadDim * 16, part).ok());
  }
  for (std::uint64_t row = 0; row < kRows; ++row)
    EXPECT_EQ(std::memcmp(&plain[row * kRow], &moved[ckpt::half_split_row(row, kHeadDim) * kRow], kRow), 0) << row;
}

}  // namespace
}  // namespace titan::convert::ordered_reader_test
