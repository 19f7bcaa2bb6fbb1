#include "converters/pickle/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace titan::convert {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kFold = 64;  // bytes per step; zlib processes shorter rests

// Computes the CRC with carry-less multiplications. `size` is a multiple of 16 and at least kFold. `crc` and the result
// are inverted (before the final XOR with 0xffffffff).
// \source V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009
// (reflected form)
__attribute__((target("pclmul,sse4.1"))) std::uint32_t fold(std::uint32_t crc, const std::byte* data,
                                                            std::size_t size) {
  const auto load = [](const std::byte* at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  const auto step = [](__m128i x, __m128i k) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11));
  };
  // x^(4*128+32), x^(4*128-32), x^(128+32), x^(128-32), x^64 modulo the polynomial; then the polynomial and its
  // inverse.
  const __m128i by_four = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_one = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const __m128i by_half = _mm_set_epi64x(0, 0x163cd6124), reduce = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);

  __m128i x0 = _mm_xor_si128(load(data), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i x1 = load(data + 16), x2 = load(data + 32), x3 = load(data + 48);
  for (data += kFold, size -= kFold; size >= kFold; data += kFold, size -= kFold) {
    x0 = _mm_xor_si128(step(x0, by_four), load(data));
    x1 = _mm_xor_si128(step(x1, by_four), load(data + 16));
    x2 = _mm_xor_si128(step(x2, by_four), load(data + 32));
    x3 = _mm_xor_si128(step(x3, by_four), load(data + 48));
  }
  x0 = _mm_xor_si128(step(x0, by_one), x1);
  x0 = _mm_xor_si128(step(x0, by_one), x2);
  x0 = _mm_xor_si128(step(x0, by_one), x3);
  for (; size >= 16; data += 16, size -= 16) x0 = _mm_xor_si128(step(x0, by_one), load(data));

  // Reduces 128 bits to 64, then to 32 by Barrett reduction.
  x0 = _mm_xor_si128(_mm_srli_si128(x0, 8), _mm_clmulepi64_si128(x0, by_one, 0x10));
  x0 = _mm_xor_si128(_mm_srli_si128(x0, 4), _mm_clmulepi64_si128(_mm_and_si128(x0, low), by_half, 0x00));
  __m128i t = _mm_clmulepi64_si128(_mm_and_si128(x0, low), reduce, 0x10);
  t = _mm_clmulepi64_si128(_mm_and_si128(t, low), reduce, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x0, t), 1));
}
#endif

}  // namespace

std::uint32_t crc32_by_tables(std::uint32_t crc, std::span<const std::byte> data) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> data) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (fast && data.size() >= kFold) {
    const std::size_t whole = data.size() / 16 * 16;
    crc = ~fold(~crc, data.data(), whole);
    data = data.subspan(whole);
  }
#endif
  return data.empty() ? crc : crc32_by_tables(crc, data);
}

}  // namespace titan::convert
