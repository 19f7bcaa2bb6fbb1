#pragma once
// The order of training samples. FORMAT CONTRACT: a checkpoint stores only (seed, samples consumed), so this mapping
// decides which samples a resumed run sees. It must never change; known-answer tests check it.
//
//   key      = XXH3-128 of IdentityEncoder(u64 seed, str "shuffle", u64 epoch)
//   a, b     = its first and its last 8 bytes, both big-endian
//   h        = the least h >= 1 with 2^(2h) >= n;  mask = 2^h - 1
//   k[r]     = mix(a + (r+1) * 0x9E3779B97F4A7C15) ^ b,  r = 0..7, modulo 2^64
//   mix(x)   = SplitMix64's finalizer:
//              x ^= x>>30; x *= 0xBF58476D1CE4E5B9; x ^= x>>27; x *= 0x94D049BB133111EB; x ^= x>>31
//   round r  : (left, right) -> (right, left ^ (mix(right ^ k[r]) & mask))
//              at first left = x >> h, right = x & mask
//   result   = left << h | right after 8 rounds; repeated from there while it is >= n
//              (cycle walking: at most 4 passes on average)
#include <cstdint>

namespace titan::train {

/// The index of sample number `i` (< n) of `epoch` in a keyed permutation of [0, n): O(1) memory, no state.
std::uint64_t permuted_index(std::uint64_t seed, std::uint64_t epoch, std::uint64_t i, std::uint64_t n);

}  // namespace titan::train
