#include "ckpt/format/byte_shuffle.h"

#include <array>
#include <cassert>
#include <cstring>

namespace titan::ckpt {
namespace {

// 16 bytes in a register of any vector unit. On x86-64 (SSE2) each function below is one or two instructions.
constexpr std::size_t kLane = 16;
struct Lane {
  using Bytes [[gnu::vector_size(kLane)]] = unsigned char;
  Bytes v;
};

#define TITAN_INLINE [[gnu::always_inline]] inline

TITAN_INLINE Lane even(Lane a, Lane b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)};
}
TITAN_INLINE Lane odd(Lane a, Lane b) {
  return {__builtin_shufflevector(a.v, b.v, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)};
}
TITAN_INLINE Lane zip_low(Lane a, Lane b) {
  return {__builtin_shufflevector(a.v, b.v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)};
}
TITAN_INLINE Lane zip_high(Lane a, Lane b) {
  return {__builtin_shufflevector(a.v, b.v, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)};
}

// 16 elements of S bytes -> S planes. Each step separates the bytes at even offsets, which are the even bytes of each
// element, from those at odd offsets. Each of the two halves is then the same task for S / 2.
template <std::size_t S>
TITAN_INLINE std::array<Lane, S> split(const std::array<Lane, S>& stream) {
  if constexpr (S == 1) {
    return stream;
  } else {
    std::array<Lane, S / 2> evens, odds;
    for (std::size_t i = 0; i < S / 2; ++i) {
      evens[i] = even(stream[2 * i], stream[2 * i + 1]);
      odds[i] = odd(stream[2 * i], stream[2 * i + 1]);
    }
    evens = split<S / 2>(evens);
    odds = split<S / 2>(odds);
    std::array<Lane, S> planes;
    for (std::size_t i = 0; i < S / 2; ++i) {
      planes[2 * i] = evens[i];
      planes[2 * i + 1] = odds[i];
    }
    return planes;
  }
}

template <std::size_t S>
TITAN_INLINE std::array<Lane, S> join(const std::array<Lane, S>& planes) {
  if constexpr (S == 1) {
    return planes;
  } else {
    std::array<Lane, S / 2> evens, odds;
    for (std::size_t i = 0; i < S / 2; ++i) {
      evens[i] = planes[2 * i];
      odds[i] = planes[2 * i + 1];
    }
    evens = join<S / 2>(evens);
    odds = join<S / 2>(odds);
    std::array<Lane, S> stream;
    for (std::size_t i = 0; i < S / 2; ++i) {
      stream[2 * i] = zip_low(evens[i], odds[i]);
      stream[2 * i + 1] = zip_high(evens[i], odds[i]);
    }
    return stream;
  }
}

#if defined(__x86_64__)
// 32 elements of 2 or 4 bytes -> as many planes, with 4 instructions per 32 bytes; for the general form gcc generates
// 12.
using Bytes32 [[gnu::vector_size(32)]] = char;
using Ints8 [[gnu::vector_size(32)]] = int;
using Longs4 [[gnu::vector_size(32)]] = long long;

[[gnu::target("avx2")]] TITAN_INLINE Bytes32 load32(const std::byte* from) {
  Bytes32 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// Plane j of 8 elements of 4 bytes goes into the j-th 8 bytes.
[[gnu::target("avx2")]] TITAN_INLINE Longs4 eight_by_four(const std::byte* from) {
  const Bytes32 v = load32(from);
  const Bytes32 grouped = __builtin_shufflevector(v, v, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16, 20,
                                                  24, 28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31);
  const auto ints = reinterpret_cast<Ints8>(grouped);
  return reinterpret_cast<Longs4>(__builtin_shufflevector(ints, ints, 0, 4, 1, 5, 2, 6, 3, 7));
}

[[gnu::target("avx2")]] std::size_t shuffle4_avx2(const std::byte* elements, std::size_t count, std::size_t stride,
                                                  std::byte* planes) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const std::byte* from = elements + 4 * i;
    const Longs4 a = eight_by_four(from), b = eight_by_four(from + 32), c = eight_by_four(from + 64),
                 d = eight_by_four(from + 96);
    const Longs4 ab02 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab13 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const Longs4 cd02 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd13 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    const Longs4 out[4] = {
        __builtin_shufflevector(ab02, cd02, 0, 1, 4, 5), __builtin_shufflevector(ab13, cd13, 0, 1, 4, 5),
        __builtin_shufflevector(ab02, cd02, 2, 3, 6, 7), __builtin_shufflevector(ab13, cd13, 2, 3, 6, 7)};
    for (std::size_t j = 0; j < 4; ++j) std::memcpy(planes + j * stride + i, &out[j], sizeof out[j]);
  }
  return i;
}

// Plane j of 16 elements of 2 bytes goes into the j-th 16 bytes.
[[gnu::target("avx2")]] TITAN_INLINE Longs4 sixteen_by_two(const std::byte* from) {
  const Bytes32 v = load32(from);
  const Bytes32 grouped = __builtin_shufflevector(v, v, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 16, 18,
                                                  20, 22, 24, 26, 28, 30, 17, 19, 21, 23, 25, 27, 29, 31);
  const auto longs = reinterpret_cast<Longs4>(grouped);
  return __builtin_shufflevector(longs, longs, 0, 2, 1, 3);
}

[[gnu::target("avx2")]] std::size_t shuffle2_avx2(const std::byte* elements, std::size_t count, std::size_t stride,
                                                  std::byte* planes) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const Longs4 a = sixteen_by_two(elements + 2 * i), b = sixteen_by_two(elements + 2 * i + 32);
    const Longs4 low = __builtin_shufflevector(a, b, 0, 1, 4, 5), high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    std::memcpy(planes + i, &low, sizeof low);
    std::memcpy(planes + stride + i, &high, sizeof high);
  }
  return i;
}
#endif

// Shuffles as many of the first elements as the fast functions can, and returns their number.
template <std::size_t S>
std::size_t shuffle_fast([[maybe_unused]] const std::byte* elements, [[maybe_unused]] std::size_t count,
                         [[maybe_unused]] std::size_t stride, [[maybe_unused]] std::byte* planes) {
#if defined(__x86_64__)
  if constexpr (S == 2 || S == 4) {
    if (__builtin_cpu_supports("avx2"))
      return (S == 2 ? shuffle2_avx2 : shuffle4_avx2)(elements, count, stride, planes);
  }
#endif
  return 0;
}

template <std::size_t S>
void shuffle(std::span<const std::byte> elements, std::size_t stride, std::byte* planes) {
  const std::size_t count = elements.size() / S;
  std::size_t i = shuffle_fast<S>(elements.data(), count, stride, planes);
  for (; i + kLane <= count; i += kLane) {
    std::array<Lane, S> lanes;
    std::memcpy(lanes.data(), elements.data() + i * S, sizeof lanes);
    lanes = split<S>(lanes);
    for (std::size_t j = 0; j < S; ++j) std::memcpy(planes + j * stride + i, &lanes[j], kLane);
  }
  for (; i < count; ++i)
    for (std::size_t j = 0; j < S; ++j) planes[j * stride + i] = elements[i * S + j];
  for (std::size_t j = 0; j < S && count < stride; ++j) std::memset(planes + j * stride + count, 0, stride - count);
}

template <std::size_t S>
void unshuffle(const std::byte* planes, std::size_t stride, std::span<std::byte> elements) {
  const std::size_t count = elements.size() / S;
  std::size_t i = 0;
  for (; i + kLane <= count; i += kLane) {
    std::array<Lane, S> lanes;
    for (std::size_t j = 0; j < S; ++j) std::memcpy(&lanes[j], planes + j * stride + i, kLane);
    lanes = join<S>(lanes);
    std::memcpy(elements.data() + i * S, lanes.data(), sizeof lanes);
  }
  for (; i < count; ++i)
    for (std::size_t j = 0; j < S; ++j) elements[i * S + j] = planes[j * stride + i];
}

}  // namespace

void shuffle_bytes(std::span<const std::byte> elements, std::size_t element_size, std::size_t stride,
                   std::byte* planes) {
  assert(elements.size() % element_size == 0 && elements.size() / element_size <= stride);
  switch (element_size) {
    case 1: return shuffle<1>(elements, stride, planes);
    case 2: return shuffle<2>(elements, stride, planes);
    case 4: return shuffle<4>(elements, stride, planes);
    default: assert(element_size == 8); return shuffle<8>(elements, stride, planes);
  }
}

void unshuffle_bytes(const std::byte* planes, std::size_t element_size, std::size_t stride,
                     std::span<std::byte> elements) {
  assert(elements.size() % element_size == 0 && elements.size() / element_size <= stride);
  switch (element_size) {
    case 1: return unshuffle<1>(planes, stride, elements);
    case 2: return unshuffle<2>(planes, stride, elements);
    case 4: return unshuffle<4>(planes, stride, elements);
    default: assert(element_size == 8); return unshuffle<8>(planes, stride, elements);
  }
}

}  // namespace titan::ckpt
