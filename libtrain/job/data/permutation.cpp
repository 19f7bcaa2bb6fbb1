#include "libtrain/job/data/permutation.h"

#include <array>
#include <cassert>

#include "ckpt/base/hash.h"

namespace titan::train {
namespace {

constexpr int kRounds = 8;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t big_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

std::array<std::uint64_t, kRounds> round_keys(std::uint64_t seed, std::uint64_t epoch) {
  ckpt::IdentityEncoder encoder;
  encoder.u64(seed);
  encoder.str("shuffle");
  encoder.u64(epoch);
  const ckpt::Digest digest = encoder.finish();
  const std::uint64_t a = big_endian(digest.bytes.data()), b = big_endian(digest.bytes.data() + 8);
  std::array<std::uint64_t, kRounds> keys;
  for (std::uint64_t r = 0; r < kRounds; ++r) keys[r] = mix(a + (r + 1) * 0x9E3779B97F4A7C15u) ^ b;
  return keys;
}

}  // namespace

std::uint64_t permuted_index(std::uint64_t seed, std::uint64_t epoch, std::uint64_t i, std::uint64_t n) {
  assert(i < n);
  int half = 1;
  while (half < 32 && (std::uint64_t{1} << (2 * half)) < n) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  const std::array<std::uint64_t, kRounds> keys = round_keys(seed, epoch);
  std::uint64_t x = i;
  do {
    std::uint64_t left = x >> half, right = x & mask;
    for (std::uint64_t key : keys) {
      const std::uint64_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= n);
  return x;
}

}  // namespace titan::train
