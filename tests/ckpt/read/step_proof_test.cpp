#include "ckpt/read/step_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::step_proof_test {
namespace {

using ::testing::AllOf;
using testing::FailingFs;
using ::testing::HasSubstr;
using testing::MemFs;
using testing::Op;

class StepProof : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto published = testing::save(fs_, "/run", testing::make_snapshot({{"a", {300}}}, {1, 1, 1}, 100, 10));
    ASSERT_TRUE(published.ok());
    id_ = published->id;
  }
  static constexpr const char* kPath = "/run/step-00000010";
  MemFs fs_;
  Digest id_;
};

TEST_F(StepProof, ReadsEveryMemberAndGivesTheId) {
  EXPECT_EQ(prove_step(fs_, kPath).value(), id_);
  for (const std::string& member : testing::tree(fs_, kPath)) {
    if (member.ends_with('/')) continue;
    const std::string path = std::string(kPath) + "/" + member;
    const std::uint64_t last = fs_.stat(path)->size - 1;
    std::byte byte{};
    ASSERT_TRUE(fs_.open_read(path).value()->pread(last, {&byte, 1}).ok());
    const std::byte other = byte ^ std::byte{2};
    ASSERT_TRUE(fs_.overwrite(path, last, {&other, 1}).ok());
    const Status found = prove_step(fs_, kPath).status();
    EXPECT_EQ(found.code, Code::kCorrupt) << member;
    EXPECT_THAT(found.message, HasSubstr(member));
    ASSERT_TRUE(fs_.overwrite(path, last, {&byte, 1}).ok());
  }
  EXPECT_TRUE(prove_step(fs_, kPath).ok());
}

TEST_F(StepProof, WhatCannotBeReadIsNotProved) {
  FailingFs failing(fs_);
  failing.arm({.op = Op::kPread, .path_part = "model/shard", .status = media_error("a sector")});
  EXPECT_EQ(prove_step(failing, kPath).status().code, Code::kMediaError);
  CancelSource stop;
  stop.request(StopReason::kTerminate);
  EXPECT_EQ(prove_step(fs_, kPath, CancelToken(stop)).status().code, Code::kTerminated);
  EXPECT_EQ(prove_step(fs_, "/run/step-00000020").status().code, Code::kNotFound);
}

TEST_F(StepProof, AnotherIdIsSaidWithBoth) {
  EXPECT_TRUE(check_id_at(fs_, kPath, id_).ok());
  const Digest other = digest_of("other");
  const Status found = check_id_at(fs_, kPath, other);
  EXPECT_EQ(found.code, Code::kIncompatible);
  EXPECT_THAT(found.message,
              AllOf(HasSubstr(kPath), HasSubstr("expected id " + other.hex()), HasSubstr("found " + id_.hex())));
  EXPECT_FALSE(found.hint.empty());
  EXPECT_EQ(check_id_at(fs_, "/run/step-00000020", id_).code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::step_proof_test
