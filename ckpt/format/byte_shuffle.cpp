#include "ckpt/format/byte_shuffle.h"

#include <array>
#include <cassert>
#include <cstring>

namespace titan::ckpt {
namespace {

// 16 bytes of whatever vector unit there is; SSE2 on x86-64, where each function below is one or two instructions.
constexpr std::size_t kLane = 16;
struct Lane {
  using Bytes [[gnu::vector_size(kLane)]] = unsigned char;
  Bytes v;
};

Lane even(Lane a, Lane b) { return {__builtin_shufflevector(a.v, b.v, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)}; }
Lane odd(Lane a, Lane b) { return {__builtin_shufflevector(a.v, b.v, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)}; }
Lane zip_low(Lane a, Lane b) { return {__builtin_shufflevector(a.v, b.v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)}; }
Lane zip_high(Lane a, Lane b) { return {__builtin_shufflevector(a.v, b.v, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)}; }

// 16 elements of S bytes -> S planes. The bytes at even places of the stream are the even bytes of each element: half the problem.
template <std::size_t S>
std::array<Lane, S> split(const std::array<Lane, S>& stream) {
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
std::array<Lane, S> join(const std::array<Lane, S>& planes) {
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

template <std::size_t S>
void shuffle(std::span<const std::byte> elements, std::size_t stride, std::byte* planes) {
  const std::size_t count = elements.size() / S;
  std::size_t i = 0;
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

void shuffle_bytes(std::span<const std::byte> elements, std::size_t element_size, std::size_t stride, std::byte* planes) {
  assert(elements.size() % element_size == 0 && elements.size() / element_size <= stride);
  switch (element_size) {
    case 1: return shuffle<1>(elements, stride, planes);
    case 2: return shuffle<2>(elements, stride, planes);
    case 4: return shuffle<4>(elements, stride, planes);
    default: assert(element_size == 8); return shuffle<8>(elements, stride, planes);
  }
}

void unshuffle_bytes(const std::byte* planes, std::size_t element_size, std::size_t stride, std::span<std::byte> elements) {
  assert(elements.size() % element_size == 0 && elements.size() / element_size <= stride);
  switch (element_size) {
    case 1: return unshuffle<1>(planes, stride, elements);
    case 2: return unshuffle<2>(planes, stride, elements);
    case 4: return unshuffle<4>(planes, stride, elements);
    default: assert(element_size == 8); return unshuffle<8>(planes, stride, elements);
  }
}

}  // namespace titan::ckpt
