#include "ckpt/format/difference_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace titan::ckpt::difference_codec_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// `base` with every `every`-th element `step` higher.
template <typename U>
Bytes moved(Bytes base, std::size_t every, U step) {
  for (std::size_t i = 0; i + sizeof(U) <= base.size(); i += every * sizeof(U)) {
    U value;
    std::memcpy(&value, &base[i], sizeof value);
    value = static_cast<U>(value + step);
    std::memcpy(&base[i], &value, sizeof value);
  }
  return base;
}

Bytes encoded(const Bytes& base, const Bytes& target, std::size_t element_size) {
  DifferenceEncoder encoder;
  const auto stored = encoder.encode(base, target, element_size);
  EXPECT_TRUE(stored.ok()) << stored.status().to_string();
  return {stored->begin(), stored->end()};
}

Status decoded(const Bytes& stored, const Bytes& base, std::size_t element_size, Bytes& target) {
  return DifferenceDecoder().decode(stored, base, element_size, target);
}

std::size_t round_trip(const Bytes& base, const Bytes& target, std::size_t element_size) {
  const Bytes stored = encoded(base, target, element_size);
  Bytes again(target.size());
  const Status status = decoded(stored, base, element_size, again);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(again == target) << element_size << " " << target.size();
  EXPECT_LE(stored.size(), target.size() + 1);
  return stored.size();
}

TEST(DifferenceCodec, GivesBackEveryBitOfAnySizeAndElement) {
  for (const std::size_t size : {0, 1, 2, 7, 8, 31, 4096, 8191, 8192, 8194, 65536, 100'001})
    for (const std::size_t element : {1, 2, 4, 8}) {
      const Bytes base = random_bytes(size, 1);
      round_trip(base, base, element);
      round_trip(base, random_bytes(size, 2), element);
      round_trip({}, random_bytes(size, 3), element);
      round_trip(base, moved<std::uint16_t>(base, 50, 1), element);
      round_trip(base, moved<std::uint16_t>(base, 9, 0xffff), element);
      round_trip(base, moved<std::uint16_t>(base, 12, 0x7fff), element);
      round_trip(base, moved<std::uint32_t>(base, 1, 3), element);
    }
}

TEST(DifferenceCodec, FewSmallStepsTakeFewBytes) {
  const Bytes base = random_bytes(std::size_t{1} << 20, 1);
  EXPECT_LT(round_trip(base, moved<std::uint16_t>(base, 30, 1), 2), base.size() / 30);
  EXPECT_LT(round_trip(base, moved<std::uint16_t>(base, 30, 0xffff), 2), base.size() / 30) << "downwards";
  EXPECT_LT(round_trip(base, moved<std::uint16_t>(base, 100, 77), 2), base.size() / 30) << "beyond two bits";
  EXPECT_LT(round_trip(base, moved<std::uint32_t>(base, 1, 200), 4), base.size() / 10) << "every element, by little";
  EXPECT_EQ(encoded(base, base, 2).size(), 1u);
}

TEST(DifferenceCodec, WhatDoesNotFitIsRefused) {
  Bytes target(64);
  EXPECT_EQ(DifferenceEncoder().encode(Bytes(63), target, 2).status().code, Code::kInvalid);
  EXPECT_EQ(DifferenceEncoder().encode({}, target, 3).status().code, Code::kInvalid);
  EXPECT_EQ(DifferenceEncoder().encode({}, Bytes(kMaxDifferencePiece + 1), 1).status().code, Code::kInvalid);
  EXPECT_EQ(decoded({}, {}, 2, target).code, Code::kCorrupt);
  EXPECT_EQ(decoded({std::byte{0}}, {}, 2, target).code, Code::kCorrupt) << "equal to a base that is not there";
  EXPECT_EQ(decoded({std::byte{0}, std::byte{0}}, Bytes(64), 2, target).code, Code::kCorrupt);
  EXPECT_EQ(decoded(Bytes(64, std::byte{1}), {}, 2, target).code, Code::kCorrupt) << "plain, and a byte too short";
  EXPECT_EQ(decoded({std::byte{9}}, {}, 2, target).code, Code::kCorrupt);
}

/// Form 3 of a piece, over a zstd frame of one block that is not compressed.
Bytes steps_of(const std::vector<unsigned>& content) {
  const auto size = static_cast<unsigned>(content.size());
  Bytes stored;
  for (const unsigned byte : {3U, 0x28U, 0xb5U, 0x2fU, 0xfdU, 0x20U, size, size << 3 | 1, 0U, 0U})
    stored.push_back(static_cast<std::byte>(byte));
  for (const unsigned byte : content) stored.push_back(static_cast<std::byte>(byte));
  return stored;
}

TEST(DifferenceCodec, LargeDifferencesAreAsManyAsTheirBitsSay) {
  Bytes target(32);
  const Bytes base(32);
  ASSERT_TRUE(decoded(steps_of({0x03, 0, 0, 0, 8, 0}), base, 2, target).ok());
  EXPECT_EQ(target[0], std::byte{4});
  EXPECT_EQ(decoded(steps_of({0x00, 0, 0, 0, 8, 0}), base, 2, target).code, Code::kCorrupt) << "one more";
  EXPECT_EQ(decoded(steps_of({0x0f, 0, 0, 0, 8, 0}), base, 2, target).code, Code::kCorrupt) << "one less";
  EXPECT_EQ(decoded(steps_of({0x03, 0, 0, 0, 8}), base, 2, target).code, Code::kCorrupt) << "half of one";
  Bytes three(6);
  EXPECT_EQ(decoded(steps_of({0xc0}), three, 2, three).code, Code::kCorrupt) << "of a number that is not there";
}

TEST(DifferenceCodec, NoChangedByteGivesMoreThanAnError) {
  const Bytes base = random_bytes(20'000, 1), target = moved<std::uint16_t>(base, 11, 5);
  const Bytes stored = encoded(base, target, 2);
  Bytes again(target.size());
  for (std::size_t i = 0; i < stored.size(); i += 7) {
    Bytes bad = stored;
    bad[i] ^= std::byte{0x55};
    (void)decoded(bad, base, 2, again);
    bad.resize(i);
    EXPECT_FALSE(decoded(bad, base, 2, again).ok()) << i;
  }
  Bytes other(target.size() * 2);
  EXPECT_EQ(decoded(stored, Bytes(other.size()), 2, other).code, Code::kCorrupt) << "of another size";
}

}  // namespace
}  // namespace titan::ckpt::difference_codec_test
