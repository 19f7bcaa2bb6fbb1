#include "converters/write_behind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::convert {
namespace {

using ckpt::testing::Fault;
using ckpt::testing::Op;
using ckpt::testing::Repeat;

struct WriteBehindTest : ::testing::Test {
  ckpt::testing::MemFs memory;
  ckpt::testing::FailingFs fs{memory};
  std::unique_ptr<ckpt::File> file = fs.create("/f").value();

  // Puts `count` blocks of 1, 2, 3, ... bytes that all hold their number; stops at the first error.
  ckpt::Status put_blocks(WriteBehind& behind, int count) {
    std::uint64_t offset = 0;
    for (int i = 1; i <= count; ++i) {
      TITAN_ASSIGN_OR_RETURN(WriteBehind::Block block, behind.take(i));
      EXPECT_EQ(block.size(), std::size_t(i));
      std::memset(block.data(), i, block.size());
      behind.put(offset, std::move(block));
      offset += i;
    }
    return ckpt::ok_status();
  }
};

TEST_F(WriteBehindTest, WritesEveryBlockInItsPlace) {
  constexpr int kBlocks = 100;
  WriteBehind behind(*file);
  ASSERT_TRUE(put_blocks(behind, kBlocks).ok());
  ASSERT_TRUE(behind.finish().ok());
  std::vector<std::byte> expected;
  for (int i = 1; i <= kBlocks; ++i) expected.insert(expected.end(), i, std::byte(i));
  const auto found = ckpt::read_file(memory, "/f", 1 << 20);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, expected);
}

TEST_F(WriteBehindTest, HandsOutAFewBlocksWhateverTheFilesSize) {
  const std::byte* seen[4] = {};
  WriteBehind behind(*file);
  for (int i = 0; i < 1000; ++i) {
    auto block = behind.take(4096);
    ASSERT_TRUE(block.ok());
    const auto slot = std::find_if(std::begin(seen), std::end(seen), [&](const std::byte* at) { return at == nullptr || at == block->data(); });
    ASSERT_NE(slot, std::end(seen)) << "a fifth block at " << i;
    *slot = block->data();
    behind.put(0, std::move(*block));
  }
  EXPECT_TRUE(behind.finish().ok());
}

TEST_F(WriteBehindTest, TellsAboutAFailedWriteAndWritesNothingAfterIt) {
  Fault fault;
  fault.op = Op::kPwrite;
  fault.k = 3;
  fault.error = ENOSPC;
  fs.arm(fault);
  WriteBehind behind(*file);
  const ckpt::Status status = put_blocks(behind, 100);  // must neither hang nor go on to the end
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_NE(status.message.find("/f"), std::string::npos) << status.message;
  EXPECT_EQ(behind.finish(), status);
  EXPECT_EQ(fs.count(Op::kPwrite), 3u);
}

TEST_F(WriteBehindTest, AnErrorInTheLastBlockComesFromFinish) {
  Fault fault;
  fault.op = Op::kPwrite;
  fs.arm(fault);
  WriteBehind behind(*file);
  ASSERT_TRUE(put_blocks(behind, 1).ok());
  EXPECT_EQ(behind.finish().code, ckpt::Code::kFailed);
}

TEST_F(WriteBehindTest, IsGivenUpWithoutWaitingForItsQueue) {
  {
    WriteBehind behind(*file);
    ASSERT_TRUE(put_blocks(behind, 3).ok());
  }
  EXPECT_LE(fs.count(Op::kPwrite), 3u);
  EXPECT_EQ(fs.count(Op::kDatasync), 0u);
}

}  // namespace
}  // namespace titan::convert
