#include "ckpt/read/second_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::second_look_test {
namespace {

using testing::FailingFs;
using ::testing::HasSubstr;
using testing::MemFs;

class SecondLook : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs_.make_dir("/run").ok());
    ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
    auto reader = CheckpointReader::open(fs_, kPath);
    ASSERT_TRUE(reader.ok());
    manifest_ = reader->manifest();
  }
  // Flips a bit in the first leaf of `ref`.
  void damage(const TensorRef& ref) {
    const Piece& piece = manifest_.stored(ref)->pieces.front();
    const std::byte byte{0xa5};
    ASSERT_TRUE(
        fs_.overwrite(std::string(kPath) + "/" + manifest_.files[piece.file].path, piece.offset + 1, {&byte, 1}).ok());
  }
  Status look(Fs& fs, std::uint32_t rank, bool moments = true) {
    return read_part(fs, kPath, manifest_, {snapshot_.parameters, owners_, rank, moments});
  }

  static constexpr const char* kPath = "/run/step-00000040";
  MemFs fs_;
  Snapshot snapshot_ = testing::make_snapshot(testing::small_model(), {2, 2, 1}, 100);
  Ownership owners_{snapshot_.parameters, 100, snapshot_.mesh};
  Manifest manifest_;
};

TEST_F(SecondLook, FindsNothingInAWholeCheckpoint) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(look(fs_, rank).ok()) << rank;
}

TEST_F(SecondLook, ConfirmsDamageInTheRanksOwnParametersAlone) {
  damage({owners_.of(2).front().parameter, ""});
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(look(fs_, rank).code, rank == 2 ? Code::kCorrupt : Code::kOk) << rank;
}

TEST_F(SecondLook, ConfirmsDamageInTheRanksOwnMoments) {
  const OwnedPiece& piece = owners_.of(0).front();
  damage({piece.parameter, kExpAvgSq});
  EXPECT_EQ(look(fs_, 0).code, Code::kCorrupt);
  EXPECT_TRUE(look(fs_, 0, false).ok()) << "a start that leaves the optimizer out does not read it";
}

TEST_F(SecondLook, EndsWhenItIsAskedTo) {
  CancelSource source;
  source.request(StopReason::kTerminate);
  EXPECT_EQ(read_part(fs_, kPath, manifest_, {snapshot_.parameters, owners_, 0, true}, CancelToken(source)).code,
            Code::kTerminated);
}

TEST_F(SecondLook, ReadsPastTheCache) {
  FailingFs log(fs_);
  ASSERT_TRUE(look(log, 0).ok());
  EXPECT_GT(log.count(testing::Op::kOpenRead), 0u);
  log.arm({.op = testing::Op::kPread, .error = EIO});
  EXPECT_EQ(look(log, 0).code, Code::kMediaError);
}

}  // namespace
}  // namespace titan::ckpt::second_look_test
