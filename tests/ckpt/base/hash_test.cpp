#include "ckpt/base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "ckpt/base/hash_kernel.h"

namespace titan::ckpt::hash_test {
namespace {

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i % 256);
  return data;
}

TEST(Hash, MatchesThePublishedVectorsOfXxh3128) {
  EXPECT_EQ(digest_of(std::string_view("")).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of(std::string_view("abc")).hex(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(digest_of(std::vector<std::byte>(1 << 20)).hex(), "b6ef17a3448492b6918780b90550bf34");
  EXPECT_EQ(digest_of(counting_bytes(1 << 20)).hex(), "1b208d2839093774d36c0e13a3df139e");
}

TEST(Hash, HasherGivesTheSameDigestForAnyPieces) {
  const std::uint32_t seed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (std::size_t size : {0, 1, 16, 17, 128, 129, 240, 241, 1023, 1024, 1025, 100'000}) {
    std::vector<std::byte> data = counting_bytes(size);
    Hasher hasher;
    for (std::size_t at = 0; at < size;) {
      std::size_t piece = std::min<std::size_t>(size - at, random() % 700);
      hasher.update(std::span(data).subspan(at, piece));
      at += piece;
    }
    EXPECT_EQ(hasher.digest(), digest_of(data)) << size << " bytes";
    EXPECT_EQ(hasher.digest(), digest_of(data)) << "digest() twice";
  }
}

TEST(Hash, DigestFromHexTakesBackWhatHexPrints) {
  const Digest digest = digest_of(std::string_view("titan"));
  EXPECT_EQ(digest_from_hex(digest.hex()), digest);
}

TEST(Hash, DigestFromHexRefusesEverythingElse) {
  for (const char* text :
       {"", "99aa06d3014798d86001c324468d497", "99aa06d3014798d86001c324468d497f0", "99AA06d3014798d86001c324468d497f",
        "99aa06d3014798d86001c324468d497g", " 9aa06d3014798d86001c324468d497f"}) {
    EXPECT_FALSE(digest_from_hex(text)) << text;
  }
}

TEST(Hash, EveryInstructionSetGivesTheSameDigests) {
  const HashKernels usable = usable_hash_kernels();
  ASSERT_GE(usable.count, 1);
  const std::vector<std::byte> data = counting_bytes(300'000);
  const auto same = [](HashKernel::Value a, HashKernel::Value b) { return a.low == b.low && a.high == b.high; };
  for (int k = 0; k < usable.count; ++k) {
    const HashKernel& kernel = *usable.kernels[k];
    for (std::size_t size : {0, 1, 3, 16, 128, 129, 240, 241, 1023, 1024, 1025, 65'536, 299'999}) {
      for (std::size_t offset : {0, 1}) {
        const HashKernel::Value expected = portable_hash_kernel()->hash(data.data() + offset, size);
        EXPECT_TRUE(same(kernel.hash(data.data() + offset, size), expected)) << kernel.name << ", " << size << " bytes";
        HashKernel::State state;
        kernel.reset(state);
        for (std::size_t at = 0; at < size; at += 777)
          kernel.update(state, data.data() + offset + at, std::min<std::size_t>(777, size - at));
        EXPECT_TRUE(same(kernel.digest(state), expected)) << kernel.name << ", " << size << " bytes in pieces";
      }
    }
  }
}

TEST(IdentityEncoder, WritesTagLengthAndLittleEndianValues) {
  IdentityEncoder encoder;
  encoder.str("ab");
  encoder.u64(0x0102);
  encoder.f64(1.0);
  encoder.boolean(true);
  encoder.absent();
  encoder.list(3);
  using namespace std::string_literals;
  EXPECT_EQ(encoder.bytes(),
            "s\2\0\0\0\0\0\0\0ab"s
            "u\2\1\0\0\0\0\0\0"s
            "d\0\0\0\0\0\0\xf0\x3f"s
            "b\1"s
            "-"s
            "l\3\0\0\0\0\0\0\0"s);
  EXPECT_EQ(encoder.finish(), digest_of(std::string_view(encoder.bytes())));
}

TEST(IdentityEncoder, DifferentFieldSequencesNeverShareBytes) {
  std::set<std::string> seen;
  auto add = [&seen](auto fill) {
    IdentityEncoder encoder;
    fill(encoder);
    EXPECT_TRUE(seen.insert(encoder.bytes()).second);
  };
  add([](IdentityEncoder&) {});
  add([](IdentityEncoder& e) { e.str("ab"); });
  add([](IdentityEncoder& e) { e.str("a"), e.str("b"); });
  add([](IdentityEncoder& e) { e.str(""), e.str("ab"); });
  add([](IdentityEncoder& e) { e.str("ab"), e.str(""); });
  add([](IdentityEncoder& e) { e.absent(); });
  add([](IdentityEncoder& e) { e.u64(0); });
  add([](IdentityEncoder& e) { e.f64(0); });
  add([](IdentityEncoder& e) { e.f64(-0.0); });
  add([](IdentityEncoder& e) { e.boolean(false); });
  add([](IdentityEncoder& e) { e.list(0); });
  add([](IdentityEncoder& e) { e.digest({}); });
}

}  // namespace
}  // namespace titan::ckpt::hash_test
