#include "libtrain/job/data/id_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>

namespace titan::train::id_looks_test {
namespace {

using testing::HasSubstr;

/// `count` ids as little-endian numbers of `bytes` bytes.
std::string raw_ids(std::size_t bytes, std::size_t count, const std::function<std::uint64_t(std::uint64_t)>& id) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < bytes; ++byte) text += static_cast<char>(id(i) >> (8 * byte));
  return text;
}

/// Ids below `vocab_size`, most of them low, as a tokenizer gives them.
std::function<std::uint64_t(std::uint64_t)> natural(std::uint64_t vocab_size) {
  return [vocab_size](std::uint64_t i) {
    const double share = static_cast<double>(i * 2654435761 % 1000003) / 1000003;
    return static_cast<std::uint64_t>(static_cast<double>(vocab_size) * share * share * share);
  };
}

ckpt::Status look(const std::string& bytes, std::size_t width) {
  return doubt_of_ids("d/x.bin", bytes, width, "--training.token_dtype=");
}

TEST(IdLooks, IdsOf32BitsAreNotReadAsTwiceAsMany) {
  for (const std::uint64_t vocab : {256, 32000, 50257, 128256, 1000000}) {
    const ckpt::Status status = look(raw_ids(4, 1000, natural(vocab)), 2);
    EXPECT_EQ(status.code, ckpt::Code::kInvalid) << vocab;
    EXPECT_EQ(status.message, "'d/x.bin' looks like ids of 32 bits, not of 16") << vocab;
    EXPECT_EQ(status.hint, "add --training.token_dtype=uint32");
    EXPECT_TRUE(look(raw_ids(4, 1000, natural(vocab)), 4).ok()) << vocab;
  }
}

TEST(IdLooks, IdsOf64BitsAreNotReadAsNarrowerOnes) {
  for (const std::size_t width : {2, 4})
    for (const std::uint64_t vocab : {256, 50257, 128256}) {
      const ckpt::Status status = look(raw_ids(8, 1000, natural(vocab)), width);
      EXPECT_THAT(status.message, HasSubstr("looks like ids of 64 bits, not of ")) << vocab;
      EXPECT_THAT(status.hint,
                  HasSubstr("numpy.fromfile(\"d/x.bin\", \"<u8\").astype(\"<u4\").tofile(\"d/x.tokens.bin\")"));
    }
}

TEST(IdLooks, IdsOfTheRightWidthAreNotDoubted) {
  for (const std::uint64_t vocab : {256, 32000, 50257, 65536})
    EXPECT_TRUE(look(raw_ids(2, 1000, natural(vocab)), 2).ok());
  const auto few = [](std::uint64_t i) { return i % 2 == 0 ? 9 : 0; };
  EXPECT_TRUE(look(raw_ids(2, 1000, few), 2).ok()) << "a vocabulary of ten";
  EXPECT_TRUE(look(raw_ids(4, 1000, few), 4).ok());
  EXPECT_TRUE(look(std::string(1000, '\0'), 2).ok());
  EXPECT_TRUE(look(raw_ids(4, 15, natural(128256)), 2).ok()) << "too few to tell";
  const auto one_high = [](std::uint64_t i) { return i == 501 ? 16 : i % 2 == 0 ? 300 : 15; };
  EXPECT_TRUE(look(raw_ids(2, 1000, one_high), 2).ok()) << "no id of 32 bits has this high half";
  EXPECT_TRUE(look("", 2).ok());
}

TEST(IdLooks, TheHeaderOfLlmCIsNoText) {
  std::string file = raw_ids(4, 256, [](std::uint64_t i) {
    return i == 0 ? 20240520 : i == 1 ? 1 : i == 2 ? 5000 : 0;
  });
  file += raw_ids(2, 1000, natural(50257));
  for (const std::size_t width : {2, 4}) {
    const ckpt::Status status = look(file, width);
    EXPECT_THAT(status.message, HasSubstr("begins with the header of llm.c, 1024 bytes that are no tokens"));
    EXPECT_THAT(status.hint, HasSubstr("tail -c +1025 d/x.bin > d/x.tokens.bin"));
  }
  EXPECT_TRUE(look(file.substr(1024), 2).ok());
  EXPECT_TRUE(look(file.substr(0, 1023), 4).ok());
}

TEST(IdLooks, BytesTheWrongWayRoundAreKnownByTheirLowHalves) {
  const auto swapped = [](std::uint64_t i) {
    const std::uint64_t id = natural(50257)(i);
    return (id & 0xff) << 8 | id >> 8;
  };
  EXPECT_TRUE(looks_big_endian(raw_ids(2, 1000, swapped)));
  EXPECT_FALSE(looks_big_endian(raw_ids(2, 1000, natural(50257))));
  EXPECT_FALSE(looks_big_endian(raw_ids(2, 1000, natural(65536))));
  EXPECT_FALSE(looks_big_endian(raw_ids(2, 1000, [](std::uint64_t i) { return i * 40503 % 65536; })));
  EXPECT_FALSE(looks_big_endian(raw_ids(2, 1000, [](std::uint64_t) { return 256; }))) << "one token alone";
  EXPECT_FALSE(looks_big_endian(""));
}

}  // namespace
}  // namespace titan::train::id_looks_test
