#include "converters/run_names.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::run_names_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;

TEST(RunNames, ARankIsDigitsAlone) {
  EXPECT_EQ(rank_number("0"), 0u);
  EXPECT_EQ(rank_number("10"), 10u);
  for (const char* other : {"", "01", "00", "+1", "-1", " 1", "1 ", "x", "1x", "4294967296"})
    EXPECT_FALSE(rank_number(other)) << other;
}

TEST(RunNames, StepsAreReadOfEachTrainersFolders) {
  for (const char* name : {"step-10", "checkpoint-10", "iter_0000010", "global_step10", "global_step10_universal",
                           "global_step_10", "10"}) {
    EXPECT_EQ(step_of_name(name), 10u) << name;
    EXPECT_TRUE(is_step_name(name)) << name;
  }
  for (const char* name : {"step", "x10", "", "10_universal"}) EXPECT_FALSE(step_of_name(name)) << name;
  for (const char* name : {"pytorch_model_fsdp_0", "optimizer_0", "actor", "x10"})
    EXPECT_FALSE(is_step_name(name)) << name;
  EXPECT_TRUE(is_step_name("release"));
}

TEST(RunNames, TheLastStepIsReadWithTheEndsOfLinesOfEverySystem) {
  MemFs fs;
  for (const char* text : {"5", "5\n", "5\r\n", " 5 \t\r\n\n"}) {
    ASSERT_TRUE(put_text(fs, "/r/latest", text).ok());
    EXPECT_EQ(latest_word(fs, "/r/latest").value(), "5");
    ASSERT_TRUE(fs.remove_file("/r/latest").ok());
  }
  ASSERT_TRUE(put_text(fs, "/r/latest", "\n").ok());
  EXPECT_EQ(latest_word(fs, "/r/latest").value(), "");
  EXPECT_EQ(latest_word(fs, "/r/none").status().code, Code::kNotFound);
  EXPECT_EQ(latest_word(fs, "/r").status().code, Code::kNotFound) << "a folder says nothing";
}

}  // namespace
}  // namespace titan::convert::run_names_test
