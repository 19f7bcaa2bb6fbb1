#include "ckpt/base/blake2b.h"
#include "ckpt/base/hash.h"

#include <gtest/gtest.h>

namespace titan::ckpt::blake2b_test {
namespace {

std::string digest_of_parts(std::initializer_list<std::string_view> parts) {
  Blake2b hasher;
  for (const std::string_view part : parts) hasher.update(std::as_bytes(std::span(part)));
  return hex_of(hasher.digest().bytes);
}

TEST(Blake2b, IsThatOfHashlib) {
  EXPECT_EQ(digest_of_parts({"abc"}), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(digest_of_parts({"a", "", "bc"}), digest_of_parts({"abc"}));
}

TEST(Blake2b, HexComesBackAndNothingElseDoes) {
  std::array<std::uint8_t, 3> bytes{0x00, 0x9f, 0xff}, read{};
  EXPECT_EQ(hex_of(bytes), "009fff");
  EXPECT_TRUE(bytes_of_hex("009fff", read));
  EXPECT_EQ(read, bytes);
  for (const char* bad : {"009ff", "009fff0", "009FFF", "00 fff", ""}) EXPECT_FALSE(bytes_of_hex(bad, read)) << bad;
}

}  // namespace
}  // namespace titan::ckpt::blake2b_test
