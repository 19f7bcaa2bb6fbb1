#include "ckpt/format/leaf_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>
#include <vector>

#include "ckpt/model/dtype.h"

namespace titan::ckpt::leaf_codec_test {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// Weights as training leaves them: normally distributed, of one scale.
Bytes gaussian(std::size_t count, std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  Bytes bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    std::byte raw[8]{};
    std::memcpy(raw + 4, &value, 4);
    std::memcpy(&bytes[i * size], raw + (8 - size), size);  // the upper half of a float is a bfloat16
  }
  return bytes;
}

Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

struct Stored {
  Bytes bytes;
  std::uint32_t mask = 0;
};

Stored encode(const Bytes& raw, std::size_t size, std::size_t chunk) {
  LeafEncoder encoder;
  const auto encoded = encoder.encode(raw, size, chunk);
  EXPECT_TRUE(encoded.ok()) << encoded.status().to_string();
  return {{encoded->bytes.begin(), encoded->bytes.end()}, encoded->filter_mask};
}

TEST(LeafCodec, TakesEveryTypeAndLengthThereAndBack) {
  LeafEncoder encoder;
  LeafDecoder decoder;
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64, DType::kI32, DType::kU8}) {
    const std::size_t size = dtype_size(dtype);
    for (const std::size_t count : {1, 7, 100, 4099, 262144}) {
      for (const Bytes& raw : {gaussian(count, size, count), noise(count * size, count), Bytes(count * size)}) {
        for (const std::size_t chunk : {raw.size(), raw.size() + 3 * size}) {
          const auto encoded = encoder.encode(raw, size, chunk);
          ASSERT_TRUE(encoded.ok()) << encoded.status().to_string();
          EXPECT_TRUE(stored_form_ok(encoded->bytes.size(), encoded->filter_mask, chunk));
          Bytes back(raw.size());
          const Status status = decoder.decode(encoded->bytes, encoded->filter_mask, size, chunk, back);
          ASSERT_TRUE(status.ok()) << status.to_string();
          EXPECT_TRUE(back == raw) << dtype_name(dtype) << " x " << count << " in a chunk of " << chunk;
        }
      }
    }
  }
}

// A negative level without forced Huffman literals gains exactly nothing.
TEST(LeafCodec, CompressesSyntheticWeights) {
  for (const auto& [size, least] : {std::pair<std::size_t, double>{2, 1.4}, {4, 1.15}}) {
    const Bytes raw = gaussian(262'144, size, 5);
    const Stored stored = encode(raw, size, raw.size());
    EXPECT_EQ(stored.mask, kMaskBothFilters);
    EXPECT_GT(static_cast<double>(raw.size()) / static_cast<double>(stored.bytes.size()), least)
        << size << " bytes per element";
  }
}

TEST(LeafCodec, MakesOneFrameThatTheStandardFiltersRead) {
  const Bytes raw = gaussian(1000, 4, 6);
  const Stored stored = encode(raw, 4, 4000);
  EXPECT_EQ(ZSTD_getFrameContentSize(stored.bytes.data(), stored.bytes.size()), 4000u);
  Bytes planes(4000), expected(4000);
  ASSERT_EQ(ZSTD_decompress(planes.data(), planes.size(), stored.bytes.data(), stored.bytes.size()), 4000u);
  for (std::size_t i = 0; i < 4000; ++i) expected[i % 4 * 1000 + i / 4] = raw[i];
  EXPECT_EQ(planes, expected);
}

TEST(LeafCodec, KeepsWhatDoesNotShrinkAsItIs) {
  const Bytes raw = noise(4000, 7);
  LeafEncoder encoder;
  const auto whole = encoder.encode(raw, 4, 4000);
  EXPECT_EQ(whole->filter_mask, kMaskRaw);
  EXPECT_EQ(whole->bytes.data(), raw.data()) << "a whole leaf is not copied";
  const Stored padded = encode(noise(3996, 8), 4, 4000);
  EXPECT_EQ(padded.mask, kMaskRaw);
  ASSERT_EQ(padded.bytes.size(), 4000u);
  EXPECT_EQ(Bytes(padded.bytes.end() - 4, padded.bytes.end()), Bytes(4));
}

// Between what shrinks and what does not lies a leaf that zstd brings to exactly the size of its chunk.
TEST(LeafCodec, StoresALeafThatCompressesToItsOwnSizeAsItIs) {
  LeafEncoder encoder;
  bool both[2] = {false, false};
  for (std::size_t zeros = 0; zeros <= 400; ++zeros) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      Bytes raw = noise(400, seed);
      std::fill(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(zeros), std::byte{0});
      const auto encoded = encoder.encode(raw, 1, raw.size());
      ASSERT_TRUE(encoded.ok());
      ASSERT_TRUE(stored_form_ok(encoded->bytes.size(), encoded->filter_mask, raw.size()))
          << zeros << " zeros, seed " << seed;
      both[encoded->filter_mask == kMaskRaw] = true;
    }
  }
  EXPECT_TRUE(both[0] && both[1]);
}

TEST(LeafCodec, GivesEqualBytesForEqualLeavesWhateverCameBefore) {
  LeafEncoder encoder;
  const Bytes raw = gaussian(5000, 4, 9);
  const Stored first = encode(raw, 4, raw.size());
  (void)encoder.encode(gaussian(70'000, 4, 10), 4, 280'000);
  const auto again = encoder.encode(raw, 4, raw.size());
  EXPECT_EQ(Bytes(again->bytes.begin(), again->bytes.end()), first.bytes);
}

struct Malformed {
  const char* name;
  Stored (*make)(Stored good);
  const char* message;
};
void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.name; }

constexpr std::size_t kChunk = 40'000;

Bytes frame_of(const Bytes& content, bool with_size) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, with_size);
  Bytes out(ZSTD_compressBound(content.size()));
  out.resize(ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// A frame header alone: single segment, 8-byte content size, then one raw block of nothing.
Bytes bomb(std::uint64_t claim) {
  Bytes bytes{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}, std::byte{0xE0}};
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::byte>(claim >> shift));
  bytes.insert(bytes.end(), {std::byte{1}, std::byte{0}, std::byte{0}});
  return bytes;
}

const Malformed kMalformed[] = {
    {"Empty",
     [](Stored) {
       return Stored{{}, 0};
     },
     "cannot have 0 bytes"},
    {"UnknownMask",
     [](Stored good) {
       return Stored{good.bytes, 1};
     },
     "filter mask 1"},
    {"ShuffledOnly",
     [](Stored) {
       return Stored{Bytes(kChunk), 2};
     },
     "filter mask 2"},
    {"RawOfAnotherLength",
     [](Stored) {
       return Stored{Bytes(kChunk - 4), kMaskRaw};
     },
     "cannot have"},
    {"FrameAsLongAsTheChunk", [](Stored good) { return good.bytes.resize(kChunk), good; }, "cannot have"},
    {"NoFrame",
     [](Stored) {
       return Stored{Bytes(100, std::byte{0x55}), 0};
     },
     "no zstd frame"},
    {"CutOff", [](Stored good) { return good.bytes.pop_back(), good; }, "cut off"},
    {"CutInTheHeader", [](Stored good) { return good.bytes.resize(5), good; }, ""},
    {"TrailingByte", [](Stored good) { return good.bytes.push_back({}), good; }, "1 bytes after a zstd frame"},
    {"SecondFrame",
     [](Stored good) {
       good.bytes.insert(good.bytes.end(), good.bytes.begin(), good.bytes.begin() + 20);
       return good;
     },
     "after a zstd frame"},
    {"SecondFrameOfNothing",
     [](Stored good) {
       const Bytes none = frame_of({}, true);
       good.bytes.insert(good.bytes.end(), none.begin(), none.end());
       return good;
     },
     "after a zstd frame"},
    {"SkippableFrame",
     [](Stored) {
       Bytes b(24);
       b[0] = std::byte{0x50};
       b[1] = std::byte{0x2A};
       b[2] = std::byte{0x4D};
       b[3] = std::byte{0x18};
       b[4] = std::byte{16};
       return Stored{b, 0};
     },
     "claims"},
    {"SmallerContent",
     [](Stored) {
       return Stored{frame_of(Bytes(kChunk - 1), true), 0};
     },
     "claims 39999 bytes of content, expected 40000"},
    {"LargerContent",
     [](Stored) {
       return Stored{frame_of(Bytes(kChunk + 1), true), 0};
     },
     "claims 40001"},
    {"NoContentSize",
     [](Stored) {
       return Stored{frame_of(Bytes(kChunk), false), 0};
     },
     "claims no bytes"},
    {"ClaimsATerabyte",
     [](Stored) {
       return Stored{bomb(std::uint64_t{1} << 40), 0};
     },
     "claims 1099511627776"},
    {"ClaimsAlmostAllOf64Bits",
     [](Stored) {
       return Stored{bomb(~std::uint64_t{0} - 5), 0};
     },
     "claims"},
    {"ClaimsTheChunkAndHoldsNothing",
     [](Stored) {
       return Stored{bomb(kChunk), 0};
     },
     ""},
};

class MalformedLeaf : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedLeaf, IsCorrupt) {
  const Bytes raw = gaussian(kChunk / 4, 4, 11);
  const Stored stored = GetParam().make(encode(raw, 4, kChunk));
  LeafDecoder decoder;
  Bytes back(kChunk);
  const Status status = decoder.decode(stored.bytes, stored.mask, 4, kChunk, back);
  EXPECT_EQ(status.code, Code::kCorrupt) << status.to_string();
  EXPECT_THAT(status.message, HasSubstr(GetParam().message));
  const Stored good = encode(raw, 4, kChunk);
  EXPECT_TRUE(decoder.decode(good.bytes, good.mask, 4, kChunk, back).ok())
      << "the decoder must be usable after an error";
  EXPECT_EQ(back, raw);
}

INSTANTIATE_TEST_SUITE_P(LeafCodec, MalformedLeaf, ::testing::ValuesIn(kMalformed),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LeafCodec, SurvivesFlippedBitsInFrames) {
  constexpr std::uint64_t kSeed = 12;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  const Bytes raw = gaussian(2000, 4, 13);
  const Stored good = encode(raw, 4, raw.size());
  LeafDecoder decoder;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes bad = good.bytes;
    bad[random() % bad.size()] ^= static_cast<std::byte>(1 << random() % 8);
    Bytes back(raw.size());
    const Status status = decoder.decode(bad, 0, 4, raw.size(), back);
    refused += status.code == Code::kCorrupt;
    EXPECT_TRUE(status.ok() || status.code == Code::kCorrupt) << status.to_string();
  }
  EXPECT_GT(refused, 0);
}

TEST(LeafCodec, RefusesALeafThatEndsWithinAnElement) {
  LeafEncoder encoder;
  const Bytes raw(6);
  EXPECT_EQ(encoder.encode(raw, 4, 8).status().code, Code::kInvalid);
  EXPECT_TRUE(encoder.encode(raw, 2, 8).ok());
}

TEST(LeafCodec, RefusesChunksBeyondTheLimitAndLeavesThatDoNotFit) {
  LeafEncoder encoder;
  LeafDecoder decoder;
  Bytes raw(8), out(8);
  EXPECT_EQ(encoder.encode(raw, 4, kMaxChunkBytes + 4).status().code, Code::kInvalid);
  EXPECT_EQ(encoder.encode(raw, 4, 4).status().code, Code::kInvalid);
  EXPECT_EQ(encoder.encode(raw, 3, 9).status().code, Code::kInvalid);
  EXPECT_EQ(decoder.decode(raw, kMaskRaw, 4, kMaxChunkBytes + 4, out).code, Code::kInvalid);
}

TEST(LeafCodec, ALeafThatDecodesToAnotherIsNoticedBeforeItIsWritten) {
  const Bytes raw = gaussian(4099, 4, 1);
  LeafEncoder encoder;
  const auto prove = [&](void (*spoil)(std::span<std::byte>)) {
    LeafEncoder::spoil_for_test(spoil);
    const auto encoded = encoder.encode(raw, 4, raw.size() + 40);
    LeafEncoder::spoil_for_test(nullptr);
    EXPECT_TRUE(encoded.ok() && encoded->filter_mask == kMaskBothFilters);
    return encoder.prove(*encoded, digest_of(raw), raw.size(), 4, raw.size() + 40);
  };
  EXPECT_TRUE(prove(nullptr).ok());
  EXPECT_TRUE(prove(nullptr).ok()) << "a second time, with buffers that are used";
  for (const auto spoil : {+[](std::span<std::byte> frame) { frame[frame.size() / 2] ^= std::byte{4}; },
                           +[](std::span<std::byte> frame) { frame[0] ^= std::byte{1}; }}) {
    const Status wrong = prove(spoil);
    EXPECT_EQ(wrong.code, Code::kFailed);
    EXPECT_THAT(wrong.message, HasSubstr("does not decode to itself"));
  }
}

}  // namespace
}  // namespace titan::ckpt::leaf_codec_test
