#include "ckpt/format/member_names.h"

#include <gtest/gtest.h>

namespace titan::ckpt::layout_test {
namespace {

TEST(Layout, NamesFilesAndFolders) {
  EXPECT_EQ(shard_path("model", 0), "model/shard-00000.h5");
  EXPECT_EQ(shard_path("optimizer", 123456), "optimizer/shard-123456.h5");
  EXPECT_EQ(json_path("dataloader"), "dataloader.json");
  EXPECT_EQ(step_name(40), "step-00000040");
  EXPECT_EQ(step_name(1234567890123), "step-1234567890123");
  EXPECT_EQ(temporary_name(40, "ab"), "step-00000040.tmp-ab");
}

TEST(Layout, KnowsTheIdsOfSavesFromWhatPeopleWriteThere) {
  for (const std::string good : {"0123456789ab", "0123456789abcdef"}) EXPECT_TRUE(is_save_id(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("mine"), std::string("0123456789a"), std::string("0123456789aB"),
        std::string("0123456789ab "), std::string("0123456789ag"), std::string(65, 'a')})
    EXPECT_FALSE(is_save_id(bad)) << bad;
}

TEST(Layout, AcceptsMemberPathsInsideTheCheckpointOnly) {
  for (const char* good : {"a", "model/shard-00000.h5", "a/b/c", "..a", "a..", "...", ".keep"})
    EXPECT_TRUE(check_member_path(good).ok()) << good;
  for (const char* bad :
       {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b", "a/../b", "a\\b", "a b", "a\nb", "\xC3\xA4"})
    EXPECT_EQ(check_member_path(bad).code, Code::kCorrupt) << bad;
  EXPECT_TRUE(check_member_path(std::string(255, 'a')).ok());
  EXPECT_FALSE(check_member_path(std::string(256, 'a')).ok());
}

TEST(Layout, AcceptsParameterNamesThatCanBePrinted) {
  for (const char* good : {"a", "layers.0.attention.wq.weight", "a/b%", "\xC3\xA4 b"})
    EXPECT_TRUE(check_parameter_name(good).ok()) << good;
  for (const char* bad : {"", "a\n", "\x7F", "\xFF"}) EXPECT_EQ(check_parameter_name(bad).code, Code::kInvalid) << bad;
  EXPECT_FALSE(check_parameter_name(std::string(1025, 'a')).ok());
}

}  // namespace
}  // namespace titan::ckpt::layout_test
