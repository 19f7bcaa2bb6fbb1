#include "ckpt/base/quoting.h"

#include <gtest/gtest.h>

namespace titan::ckpt::quoting_test {
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

TEST(Prometheus, ALabelIsQuotedAndWhatWouldEndItIsEscaped) {
  EXPECT_EQ(quoted_label("runs/a"), "\"runs/a\"");
  EXPECT_EQ(quoted_label("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
  for (const char* value : {"", "runs/a", "a\"b\\c\nd", "\\", "\\n"})
    EXPECT_EQ(unquoted_label(quoted_label(value) + ",x=\"y\""), value);
  EXPECT_EQ(unquoted_label("a"), "");
}

}  // namespace
}  // namespace titan::ckpt::quoting_test
