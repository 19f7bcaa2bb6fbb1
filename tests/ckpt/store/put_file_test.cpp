#include "ckpt/store/put_file.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::put_file_test {
namespace {

using ::testing::ElementsAre;
using testing::get_text;
using testing::Op;
using testing::put_text;
using ::testing::UnorderedElementsAre;

class PutFile : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(memory_.make_dir("/out").ok()); }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const auto entries = memory_.list("/out");
    EXPECT_TRUE(entries.ok());
    for (const DirEntry& entry : *entries) all.push_back(entry.name);
    return all;
  }
  testing::MemFs memory_;
  testing::FailingFs fs_{memory_};
};

TEST_F(PutFile, ReplacesWhatIsThereAndNothingBesideIt) {
  ASSERT_TRUE(put_text(memory_, "/out/x.tmp", "mine").ok());
  for (const char* text : {"one", "two"}) {
    ASSERT_TRUE(put_file(fs_, "/out/x", text, Lasting::kNo).ok());
    EXPECT_EQ(get_text(memory_, "/out/x"), text);
  }
  EXPECT_EQ(get_text(memory_, "/out/x.tmp"), "mine");
  EXPECT_THAT(names(), UnorderedElementsAre("x", "x.tmp"));
}

TEST_F(PutFile, WhatLastsIsOnTheDiskBeforeItHasItsName) {
  ASSERT_TRUE(put_file(fs_, "/out/x", "text", Lasting::kYes).ok());
  std::vector<Op> order;
  for (const testing::Call& call : fs_.calls())
    if (call.op == Op::kDatasync || call.op == Op::kRename || call.op == Op::kSyncDir) order.push_back(call.op);
  EXPECT_THAT(order, ElementsAre(Op::kDatasync, Op::kRename, Op::kSyncDir));
  EXPECT_EQ(fs_.calls().back(), (testing::Call{Op::kSyncDir, "/out"}));
}

TEST_F(PutFile, AnErrorLeavesNothing) {
  ASSERT_TRUE(put_text(memory_, "/out/x", "old").ok());
  for (const Op op : {Op::kCreate, Op::kPwrite, Op::kRename})
    for (const Lasting lasting : {Lasting::kNo, Lasting::kYes}) {
      fs_.arm({.op = op, .path_part = "x.tmp-", .error = ENOSPC});
      EXPECT_EQ(put_file(fs_, "/out/x", "new", lasting).error, ENOSPC);
      EXPECT_EQ(get_text(memory_, "/out/x"), "old");
      EXPECT_THAT(names(), ElementsAre("x"));
    }
}

TEST_F(PutFile, LeftoversOfItsOwnKindGoAndNoOthers) {
  const std::vector<std::string> others{"x.tmp",
                                        "x.tmp-mine",
                                        "x.tmp-0123456789a",
                                        "x.tmp-0123456789ab.txt",
                                        "x.tmp-0123456789AB",
                                        "xy.tmp-0123456789ab"};
  for (const std::string& name : others) ASSERT_TRUE(put_text(memory_, "/out/" + name, "mine").ok());
  ASSERT_TRUE(memory_.make_dir("/out/x.tmp-ba9876543210").ok());
  ASSERT_TRUE(put_text(memory_, temporary_path("/out/x"), "half").ok());
  ASSERT_TRUE(remove_stale_temporaries(memory_, "/out/x").ok());
  std::vector<std::string> left = others;
  left.push_back("x.tmp-ba9876543210");
  EXPECT_THAT(names(), ::testing::UnorderedElementsAreArray(left));
  EXPECT_EQ(remove_stale_temporaries(memory_, "/gone/x").code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::put_file_test
