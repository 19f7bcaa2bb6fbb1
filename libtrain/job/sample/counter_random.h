#pragma once
// Counter-based random numbers: number `index` of stream `key` is a pure function of `key` and `index`. \source Steele,
// Lea, Flood: Fast Splittable Pseudorandom Number Generators (SplitMix64)
#include <cstdint>
#include <string_view>

#include "ckpt/base/hash.h"

namespace titan::train {

inline std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// A number in [0, 1), one of 2^53 equidistant ones; a pure function of `key` and `index`.
inline double random_unit(std::uint64_t key, std::uint64_t index) {
  return static_cast<double>(random_bits(key, index) >> 11) * 0x1p-53;
}

/// The key of stream `name` among the streams for the purpose `use`.
inline std::uint64_t stream_key(std::uint64_t seed, std::string_view use, std::string_view name) {
  ckpt::IdentityEncoder encoder;
  encoder.u64(seed);
  encoder.str(use);
  encoder.str(name);
  const ckpt::Digest digest = encoder.finish();
  std::uint64_t key = 0;
  for (int i = 0; i < 8; ++i) key = key << 8 | digest.bytes[i];
  return key;
}

}  // namespace titan::train
