#include "ckpt/base/shell_word.h"

#include <gtest/gtest.h>

namespace titan::ckpt::shell_word_test {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldChange) {
  for (const char* plain : {"run@10", "/a/b-c_d.e", "run/checkpoint/step-00000010", "größe"})
    EXPECT_EQ(shell_word(plain), plain);
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("rr[1]/dam aged"), "'rr[1]/dam aged'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  for (const char* special : {"a b", "a$b", "a*", "~a", "a;b", "a\nb", "a\\b", "#a", "a&b", "!a"})
    EXPECT_EQ(shell_word(special), "'" + std::string(special) + "'");
}

}  // namespace
}  // namespace titan::ckpt::shell_word_test
