#include "cli/kit/text.h"
#include "ckpt/base/utf8.h"

#include <gtest/gtest.h>

namespace titan::cli::text_test {
namespace {

using namespace std::string_literals;

TEST(Escape, MakesControlCharactersVisible) {
  struct Case {
    std::string raw, escaped;
  };
  for (const Case& c : {Case{"layers.0.wq", "layers.0.wq"}, Case{"\x1b[31mred", "\\x1b[31mred"},
                        Case{"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"}, Case{"nul\0end"s, "nul\\x00end"},
                        Case{"del\x7f", "del\\x7f"}, Case{"größe 张量", "größe 张量"},
                        Case{"\xc2\x9b"
                             "31m",
                             "\\u{9b}31m"},  // CSI as one C1 character
                        Case{"\xe2\x80\xae"
                             "gnp",
                             "\\u{202e}gnp"},  // right-to-left override
                        Case{"bad\xff\xfe", "bad\\xff\\xfe"}, Case{"cut\xe2\x82", "cut\\xe2\\x82"}})
    EXPECT_EQ(escape(c.raw), c.escaped);
}

TEST(Escape, LetsNoControlByteThroughForAnyPairOfBytes) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string out = escape(std::string{static_cast<char>(a), static_cast<char>(b)});
      EXPECT_TRUE(ckpt::is_utf8(out));
      for (const char c : out) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << a << " " << b;
    }
  }
}

TEST(Utf8, RejectsOverlongSurrogateAndTruncatedForms) {
  for (const std::string bad :
       {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80", "\xc3"}) {
    EXPECT_FALSE(ckpt::is_utf8(bad));
    EXPECT_TRUE(ckpt::is_utf8(replace_bad_utf8(bad)));
  }
  EXPECT_TRUE(ckpt::is_utf8("\xf0\x9f\x92\xbe \xc3\xa9"));
  EXPECT_EQ(replace_bad_utf8("a\xff"
                             "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(display_width("张量"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);  // combining accent
}

TEST(Base64, MatchesTheExamplesOfItsSpecification) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace titan::cli::text_test
