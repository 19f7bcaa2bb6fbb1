// Tensors in pieces: any range, whatever cuts and files.
#include "converters/torch_save/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::pieces_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

// Element i of file f is 100 f + i.
std::string bytes_of_file(int file, int elements) {
  std::string out;
  for (int i = 0; i < elements; ++i) {
    const float value = static_cast<float>(100 * file + i);
    out.append(reinterpret_cast<const char*>(&value), 4);
  }
  return out;
}

struct Files {
  MemFs fs;
  PieceFiles pieces{fs};
  Files() {
    for (int i = 0; i < 3; ++i) {
      const std::string path = "/" + std::to_string(i);
      EXPECT_TRUE(ckpt::testing::put_text(fs, path, bytes_of_file(i, 12)).ok());
      EXPECT_EQ(pieces.add(path), static_cast<std::uint32_t>(i));
    }
    EXPECT_EQ(pieces.add("/1"), 1u);
  }
};

// 4 x 3: the first column in file 0, the others cut by rows, of which the lower ones go on from file 1 in file 2.
PiecedTensor sample() {
  PiecedTensor tensor{"t", ckpt::DType::kF32, {4, 3}, {}};
  tensor.pieces.push_back({{0, 0}, {4, 1}, {{0, 8, 4}}, 0});
  tensor.pieces.push_back({{0, 1}, {1, 2}, {{1, 0, 3}}, 1});
  tensor.pieces.push_back({{1, 1}, {3, 2}, {{1, 12, 2}, {1, 20, 2}, {2, 4, 3}}, 1});
  return tensor;
}
const std::vector<float> kExpected{2, 101, 102, 3, 104, 105, 4, 106, 201, 5, 202, 203};

TEST(Pieces, EveryRangeHasTheElementsOfTheWhole) {
  const Files files;
  const PiecedTensor tensor = sample();
  ASSERT_TRUE(check_pieces(tensor).ok()) << check_pieces(tensor).to_string();
  for (std::size_t first = 0; first <= kExpected.size(); ++first)
    for (std::size_t count = 0; first + count <= kExpected.size(); ++count) {
      std::vector<float> out(count);
      ASSERT_TRUE(files.pieces.read(tensor, first, std::as_writable_bytes(std::span(out))).ok());
      EXPECT_EQ(out, std::vector<float>(kExpected.begin() + static_cast<std::ptrdiff_t>(first),
                                        kExpected.begin() + static_cast<std::ptrdiff_t>(first + count)));
    }
}

TEST(Pieces, WhatLacksOverlapsOrIsTooShortIsRefused) {
  PiecedTensor lacks = sample(), overlaps = sample(), beyond = sample(), little = sample();
  lacks.pieces.pop_back();
  overlaps.pieces[1].offsets[0] = 1;
  beyond.pieces[2].offsets[0] = 2;
  little.pieces[2].segments[2].elements = 2;
  for (const auto& [tensor, message] : {std::pair<const PiecedTensor*, const char*>{&lacks, "6 of 12 elements"},
                                        {&overlaps, "overlap"},
                                        {&beyond, "reaches beyond its shape"},
                                        {&little, "needs 6 elements, the files have 5"}}) {
    const ckpt::Status status = check_pieces(*tensor);
    EXPECT_EQ(status.code, ckpt::Code::kCorrupt);
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace titan::convert::pieces_test
