#include "ckpt/base/printable.h"

#include <gtest/gtest.h>

namespace titan::ckpt::printable_test {
namespace {

TEST(Printable, EscapesWhatMovesTheCursorForgesALineOrHidesText) {
  EXPECT_EQ(printable("plain, \xC3\xA4 and \xE2\x82\xAC"), "plain, \xC3\xA4 and \xE2\x82\xAC");
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\x0ab\\x0d\\x09c");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("\xC2\x9b"), "\\u{9b}");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "gnp.exe"),
            "\\u{202e}gnp.exe");
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

}  // namespace
}  // namespace titan::ckpt::printable_test
