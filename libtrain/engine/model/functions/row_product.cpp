#include "libtrain/engine/model/functions/row_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstring>

#include "libtrain/engine/device/host_values.h"

#ifndef _OPENMP
#error "at::parallel_for stays on one thread in a file that is compiled without -fopenmp"
#endif

namespace titan::train {
namespace {

constexpr std::int64_t kLanes = 16, kSums = 4;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Words = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
using Halves = std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));

#define TITAN_INLINE inline __attribute__((always_inline))

TITAN_INLINE void load(const float* from, Floats& to) { std::memcpy(&to, from, sizeof to); }

// A bfloat16 is the upper half of a float.
TITAN_INLINE void load(const at::BFloat16* from, Floats& to) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const Words words = __builtin_convertvector(halves, Words) << 16;
  std::memcpy(&to, &words, sizeof to);
}

/// The dot product of w and x. The order of additions is the same for any instruction set.
template <typename T>
TITAN_INLINE float dot(const T* w, const float* x, std::int64_t count) {
  Floats sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums * kLanes <= count; i += kSums * kLanes)
    for (std::int64_t k = 0; k < kSums; ++k) {
      Floats a, b;
      load(w + i + k * kLanes, a);
      load(x + i + k * kLanes, b);
      sums[k] += a * b;
    }
  for (; i + kLanes <= count; i += kLanes) {
    Floats a, b;
    load(w + i, a);
    load(x + i, b);
    sums[0] += a * b;
  }
  const Floats together = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float lanes[kLanes];
  std::memcpy(lanes, &together, sizeof lanes);
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k) lanes[k] += lanes[k + width];
  float rest = lanes[0];
  for (; i < count; ++i) rest += static_cast<float>(w[i]) * x[i];
  return rest;
}

template <typename T>
TITAN_INLINE void dots(const T* w, const float* x, std::int64_t count, std::int64_t begin, std::int64_t end,
                       float* out) {
  for (std::int64_t row = begin; row < end; ++row) out[row] = dot(w + row * count, x, count);
}

template <typename T>
using Dots = void (*)(const T*, const float*, std::int64_t, std::int64_t, std::int64_t, float*);

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f,avx512bw"))) void dots_avx512(const T* w, const float* x, std::int64_t count,
                                                             std::int64_t begin, std::int64_t end, float* out) {
  dots(w, x, count, begin, end, out);
}
template <typename T>
__attribute__((target("avx2"))) void dots_avx2(const T* w, const float* x, std::int64_t count, std::int64_t begin,
                                               std::int64_t end, float* out) {
  dots(w, x, count, begin, end, out);
}
#endif
template <typename T>
void dots_portable(const T* w, const float* x, std::int64_t count, std::int64_t begin, std::int64_t end, float* out) {
  dots(w, x, count, begin, end, out);
}

template <typename T>
Dots<T> best_dots() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return dots_avx512<T>;
  if (__builtin_cpu_supports("avx2")) return dots_avx2<T>;
#endif
  return dots_portable<T>;
}

template <typename T>
void multiply(const at::Tensor& x, const at::Tensor& weight, float* out) {
  static const Dots<T> best = best_dots<T>();
  constexpr std::int64_t kBytesOfATask = 1 << 15;  // a smaller task is not worth another thread
  const std::int64_t count = weight.size(1);
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesOfATask / (count * static_cast<std::int64_t>(sizeof(T))));
  const T* const rows = host_values<T>(weight).data();
  const float* const row = host_values<float>(x).data();
  at::parallel_for(0, weight.size(0), grain,
                   [&](std::int64_t begin, std::int64_t end) { best(rows, row, count, begin, end, out); });
}

}  // namespace

at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == 1 && x.size(1) == weight.size(1) && weight.is_contiguous() &&
                  x.scalar_type() == weight.scalar_type(),
              "row_product takes a row and a contiguous weight of the same type");
  const at::Tensor wide = x.to(at::kFloat).contiguous();
  at::Tensor out = at::empty({1, weight.size(0)}, at::kFloat);
  if (weight.scalar_type() == at::kFloat)
    multiply<float>(wide, weight, mutable_host_values<float>(out).data());
  else
    multiply<at::BFloat16>(wide, weight, mutable_host_values<float>(out).data());
  if (bias.defined()) out.add_(bias);
  return out.to(weight.scalar_type());
}

}  // namespace titan::train
