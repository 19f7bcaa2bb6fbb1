#include "ckpt/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace titan::ckpt::utf8_test {
namespace {

using namespace std::string_literals;

TEST(Utf8, AcceptsEveryWellFormedText) {
  for (const std::string& text :
       {""s, "plain ascii, longer than eight bytes"s, "\0\x7f"s, "\xEF\xBB\xBF with a mark"s, "\xC2\x80\xDF\xBF"s,
        "\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"s, "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"s})
    EXPECT_EQ(scan_text(text).valid, text.size());
}

TEST(Utf8, FindsTheFirstBadByte) {
  const struct {
    const char* what;
    std::string bad;
  } cases[] = {
      {"lone continuation", "\x80"},
      {"overlong slash", "\xC0\xAF"},
      {"overlong two bytes", "\xC1\xBF"},
      {"overlong three bytes", "\xE0\x9F\xBF"},
      {"overlong four bytes", "\xF0\x8F\xBF\xBF"},
      {"surrogate", "\xED\xA0\x80"},
      {"above U+10FFFF", "\xF4\x90\x80\x80"},
      {"lead F5", "\xF5\x80\x80\x80"},
      {"latin-1", "\xE9t\xE9"},
      {"cut off", "\xE2\x82"},
      {"cut off four", "\xF0\x9F\x98"},
      {"wrong third byte",
       "\xE2\x82"
       "A"},
      {"byte FF", "\xFF"},
  };
  for (const auto& c : cases) {
    // At every alignment, since ASCII is skipped eight bytes at a time.
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string text = std::string(before, 'a') + c.bad;
      EXPECT_EQ(scan_text(text).valid, before) << c.what;
      EXPECT_EQ(scan_text(text + "and more text").valid, before) << c.what;
    }
  }
}

TEST(Utf8, FindsTheFirstOddControlCharacterAtEveryAlignment) {
  for (const std::string& odd : {"\0"s, "\x01"s, "\x07"s, "\x0e"s, "\x1a"s, "\x1c"s, "\x1f"s})
    for (std::size_t before = 0; before < 20; ++before)
      for (const std::string& after : {""s, "\0 and more text"s, "\xC3\xA9"s, "\xE9"s})
        EXPECT_EQ(scan_text(std::string(before, '\n') + odd + after).control, before);
  for (const std::string& fine : {""s, "\t\n\v\f\r\b\x1b\x7f ~"s, "\xC2\x80\xDF\xBF\xC2\x9F"s, "12345678\xE9\0"s})
    EXPECT_EQ(scan_text(fine).control, std::string_view::npos) << fine;
}

}  // namespace
}  // namespace titan::ckpt::utf8_test
