#include "converters/write_behind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <new>

#include "ckpt/base/files.h"
#include "tests/support/failing_fs.h"
#include "tests/support/few_threads.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::write_behind_test {
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
    const auto slot = std::find_if(std::begin(seen), std::end(seen),
                                   [&](const std::byte* at) { return at == nullptr || at == block->data(); });
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

/// Its first write takes until the WriteBehind is given up, or fails as if there were no memory.
struct OddFile final : ckpt::File {
  std::latch begun{1}, given_up{1};
  std::atomic<int> writes = 0;
  bool throws = false;

  ckpt::Status pwrite(std::uint64_t, std::span<const std::byte>) override {
    if (throws) throw std::bad_alloc();
    if (++writes > 1) return ckpt::ok_status();
    begun.count_down();
    given_up.wait();
    return ckpt::ok_status();
  }
  ckpt::Status pread(std::uint64_t, std::span<std::byte>) override { return ckpt::failed("not here"); }
  ckpt::Status truncate(std::uint64_t) override { return ckpt::failed("not here"); }
  ckpt::Result<std::uint64_t> size() override { return ckpt::failed("not here"); }
  ckpt::Status datasync() override { return ckpt::failed("not here"); }
  ckpt::Status close() override { return ckpt::ok_status(); }
};

TEST_F(WriteBehindTest, IsGivenUpWithoutWaitingForItsQueue) {
  OddFile odd;
  {
    WriteBehind behind(odd);
    ASSERT_TRUE(put_blocks(behind, 3).ok());
    odd.begun.wait();
    behind.give_up();  // what the destructor begins with
    odd.given_up.count_down();
  }
  EXPECT_EQ(odd.writes, 1);
}

TEST_F(WriteBehindTest, WritesByItselfWhereThereIsNoThread) {
  const ckpt::testing::FewThreads none(0);
  WriteBehind behind(*file);
  ASSERT_TRUE(put_blocks(behind, 100).ok());
  EXPECT_EQ(fs.count(Op::kPwrite), 100u);
  ASSERT_TRUE(behind.finish().ok());
  EXPECT_EQ(file->size().value(), 100u * 101 / 2);
}

TEST_F(WriteBehindTest, TellsAboutAFailedWriteOfItsOwnAndWritesNothingAfterIt) {
  const ckpt::testing::FewThreads none(0);
  Fault fault;
  fault.op = Op::kPwrite;
  fault.k = 3;
  fault.error = ENOSPC;
  fs.arm(fault);
  WriteBehind behind(*file);
  auto spare = behind.take(1);
  ASSERT_TRUE(spare.ok());
  const ckpt::Status status = put_blocks(behind, 100);
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  behind.put(0, std::move(*spare));
  EXPECT_EQ(behind.finish(), status);
  EXPECT_EQ(fs.count(Op::kPwrite), 3u);
}

TEST_F(WriteBehindTest, AWriteWithoutMemoryIsAnErrorWithAndWithoutThread) {
  for (const int threads : {1, 0}) {
    const ckpt::testing::FewThreads few(threads);
    OddFile odd;
    odd.throws = true;
    WriteBehind behind(odd);
    ASSERT_TRUE(put_blocks(behind, 1).ok());
    EXPECT_EQ(behind.finish(), ckpt::failed("out of memory"));
  }
}

}  // namespace
}  // namespace titan::convert::write_behind_test
