#include "recipe/text/byte_alphabet.h"
#include "ckpt/base/utf8.h"

#include <gtest/gtest.h>

#include <set>

namespace titan::recipe::byte_alphabet_test {
namespace {

TEST(ByteAlphabet, IsGpt2s) {
  EXPECT_EQ(byte_of_letter(0x120), ' ');
  EXPECT_EQ(byte_of_letter(0x10a), '\n');
  EXPECT_EQ(byte_of_letter('A'), 'A');
  EXPECT_EQ(byte_of_letter(0x143), 0xad);
  std::set<std::uint8_t> bytes;
  for (std::uint32_t code = 0; code < 0x200; ++code) {
    const auto byte = byte_of_letter(code);
    EXPECT_TRUE(!byte || bytes.insert(*byte).second) << code;
  }
  EXPECT_EQ(bytes.size(), 256u);
  EXPECT_EQ(byte_of_letter(' '), std::nullopt);
  EXPECT_EQ(byte_of_letter(0x2581), std::nullopt);
}

TEST(ByteAlphabet, ReadsTokens) {
  EXPECT_EQ(bytes_of_letters("\xc4\xa0"
                             "a"),
            " a");
  EXPECT_EQ(bytes_of_letters("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_letters(""), "");
}

TEST(ByteAlphabet, WritesUtf8) {
  std::string text;
  for (const std::uint32_t code : {0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu})
    ckpt::append_utf8(text, code);
  EXPECT_EQ(text, "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

}  // namespace
}  // namespace titan::recipe::byte_alphabet_test
