#include "ckpt/ops/tensor_stats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace titan::ckpt {
namespace {

// Elements are converted to Real (float or double) block by block, in a buffer that stays in the first-level cache. So
// one kernel for each Real is enough.
constexpr std::size_t kBlock = 512;
// Several independent sums hide the latency of an addition: element i is added to lane i mod kLanes.
constexpr std::size_t kLanes = 8;

template <typename Real>
struct Lanes {
  std::array<double, kLanes> sum{}, squares{};
  std::array<Real, kLanes> low{}, high{};
  std::uint64_t zeros = 0, nans = 0, infinities = 0;
  Real shift = 0;  // a finite element: distances from it are summed, which loses fewer bits than plain sums
  bool any = false;
};

#define TITAN_INLINE [[gnu::always_inline]] inline

// 32 bytes: one register with AVX2, two without. The lanes, and so the results, are the same in both cases.
using Float8 = float __attribute__((vector_size(32)));
using Int8 = std::int32_t __attribute__((vector_size(32)));
using Double4 = double __attribute__((vector_size(32)));
using Long4 = std::int64_t __attribute__((vector_size(32)));
using Float4 = float __attribute__((vector_size(16)));

template <typename Real>
struct Pack;
template <>
struct Pack<float> {
  using Vector = Float8;
  using Mask = Int8;
};
template <>
struct Pack<double> {
  using Vector = Double4;
  using Mask = Long4;
};

template <typename Vector>
TITAN_INLINE void load(Vector& v, const void* p) {
  std::memcpy(&v, p, sizeof v);
}
template <typename Real>
TITAN_INLINE void load_wide(Double4& v, const std::byte* p) {
  if constexpr (std::is_same_v<Real, float>) {
    Float4 narrow;
    load(narrow, p);
    v = __builtin_convertvector(narrow, Double4);
  } else {
    load(v, p);
  }
}

// True if every element is finite: only then is x - x equal to 0, else NaN.
template <typename Real>
TITAN_INLINE bool all_finite(const std::byte* block) {
  using Vector = typename Pack<Real>::Vector;
  constexpr std::size_t kSize = sizeof(Vector) / sizeof(Real);
  Vector sum{}, x;
  for (std::size_t i = 0; i < kBlock; i += kSize) {
    load(x, block + i * sizeof(Real));
    sum += x - x;
  }
  Real total = 0;
  for (std::size_t l = 0; l < kSize; ++l) total += sum[l];
  return total == 0;
}

// Adds a whole block of finite elements.
template <typename Real>
TITAN_INLINE void add_block(Lanes<Real>& lanes, const std::byte* block) {
  using Vector = typename Pack<Real>::Vector;
  using Mask = typename Pack<Real>::Mask;
  constexpr std::size_t kSize = sizeof(Vector) / sizeof(Real), kReals = kLanes / kSize, kDoubles = kLanes / 4;
  Vector low[kReals], high[kReals], x;
  Mask zeros[kReals] = {};
  Double4 sum[kDoubles], squares[kDoubles], d;
  std::memcpy(low, lanes.low.data(), sizeof low);
  std::memcpy(high, lanes.high.data(), sizeof high);
  std::memcpy(sum, lanes.sum.data(), sizeof sum);
  std::memcpy(squares, lanes.squares.data(), sizeof squares);
  const auto shift = static_cast<double>(lanes.shift);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t v = 0; v < kReals; ++v) {
      load(x, block + (i + v * kSize) * sizeof(Real));
      low[v] = x < low[v] ? x : low[v];
      high[v] = x > high[v] ? x : high[v];
      zeros[v] -= x == 0;
    }
    for (std::size_t v = 0; v < kDoubles; ++v) {
      load_wide<Real>(d, block + (i + 4 * v) * sizeof(Real));
      d -= shift;
      sum[v] += d;
      squares[v] += d * d;
    }
  }
  std::memcpy(lanes.low.data(), low, sizeof low);
  std::memcpy(lanes.high.data(), high, sizeof high);
  std::memcpy(lanes.sum.data(), sum, sizeof sum);
  std::memcpy(lanes.squares.data(), squares, sizeof squares);
  for (std::size_t v = 0; v < kReals; ++v)
    for (std::size_t l = 0; l < kSize; ++l) lanes.zeros += static_cast<std::uint64_t>(zeros[v][l]);
}

// As above, element by element, with the same lanes: for a block with non-finite elements, and for the last short
// block.
template <typename Real>
void add_slowly(Lanes<Real>& lanes, const Real* block, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Real x = block[i];
    if (!std::isfinite(x)) {
      (std::isnan(x) ? lanes.nans : lanes.infinities) += 1;
      continue;
    }
    const std::size_t l = i % kLanes;
    lanes.low[l] = x < lanes.low[l] ? x : lanes.low[l];
    lanes.high[l] = x > lanes.high[l] ? x : lanes.high[l];
    lanes.zeros += x == 0;
    const double d = static_cast<double>(x) - static_cast<double>(lanes.shift);
    lanes.sum[l] += d;
    lanes.squares[l] += d * d;
  }
}

// Starts from the first finite element; false when there is none.
template <typename Real>
bool start(Lanes<Real>& lanes, const Real* block, std::size_t count) {
  const Real* first = std::find_if(block, block + count, [](Real x) { return std::isfinite(x); });
  if (first == block + count) return false;
  lanes.any = true;
  lanes.shift = *first;
  lanes.low.fill(*first);
  lanes.high.fill(*first);
  return true;
}

template <typename Real>
TITAN_INLINE void add(Lanes<Real>& lanes, const Real* block, std::size_t count) {
  const bool some = lanes.any || start(lanes, block, count);
  const auto* bytes = reinterpret_cast<const std::byte*>(block);
  if (some && count == kBlock && all_finite<Real>(bytes))
    add_block(lanes, bytes);
  else
    add_slowly(lanes, block, count);
}

template <typename Real>
TensorStats finish(const Lanes<Real>& lanes, std::uint64_t elements) {
  TensorStats stats;
  stats.elements = elements;
  stats.zeros = lanes.zeros;
  stats.nans = lanes.nans;
  stats.infinities = lanes.infinities;
  if (!lanes.any) return stats;
  double sum = 0, squares = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    sum += lanes.sum[l];
    squares += lanes.squares[l];
  }
  const auto n = static_cast<double>(stats.finite());
  const auto shift = static_cast<double>(lanes.shift);
  stats.min = static_cast<double>(*std::min_element(lanes.low.begin(), lanes.low.end()));
  stats.max = static_cast<double>(*std::max_element(lanes.high.begin(), lanes.high.end()));
  stats.mean = shift + sum / n;
  stats.m2 = std::max(0.0, squares - sum * (sum / n));
  stats.sum_squares = std::max(0.0, squares + 2 * shift * sum + n * shift * shift);
  return stats;
}

struct FromBF16 {
  TITAN_INLINE float operator()(std::uint16_t bits) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

struct FromF16 {
  TITAN_INLINE float operator()(std::uint16_t bits) const {
    // The multiplication corrects the exponent, also of subnormals; the largest exponent means infinity or NaN.
    const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fff) << 13,
                        sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p112f) | special | sign);
  }
};

template <typename Real>
struct Convert {
  template <typename Stored>
  TITAN_INLINE Real operator()(Stored x) const {
    return static_cast<Real>(x);
  }
};

// Reads elements of type Stored and widens each to Real.
template <typename Stored, typename Real, typename Widen>
TITAN_INLINE TensorStats accumulate(std::span<const std::byte> bytes, Widen widen) {
  Lanes<Real> lanes;
  const std::size_t elements = bytes.size() / sizeof(Stored);
  alignas(64) Real block[kBlock] = {};
  alignas(64) Stored stored[kBlock] = {};
  for (std::size_t at = 0; at < elements; at += kBlock) {
    const std::size_t count = std::min(kBlock, elements - at);
    if constexpr (std::is_same_v<Stored, Real>) {
      const std::byte* in_place = bytes.data() + at * sizeof(Real);
      if (count == kBlock && lanes.any && all_finite<Real>(in_place)) {
        add_block(lanes, in_place);
        continue;
      }
      std::memcpy(block, in_place, count * sizeof(Real));
    } else {
      std::memcpy(stored, bytes.data() + at * sizeof(Stored), count * sizeof(Stored));
      for (std::size_t i = 0; i < kBlock; ++i) block[i] = widen(stored[i]);
    }
    add(lanes, block, count);
  }
  return finish(lanes, elements);
}

#if defined(__x86_64__)
template <typename Stored, typename Real, typename Widen>
[[gnu::target("avx2")]] TensorStats accumulate_avx2(std::span<const std::byte> bytes, Widen widen) {
  return accumulate<Stored, Real>(bytes, widen);
}
#endif

template <typename Stored, typename Real, typename Widen>
TensorStats run(std::span<const std::byte> bytes, Widen widen) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return accumulate_avx2<Stored, Real>(bytes, widen);
#endif
  return accumulate<Stored, Real>(bytes, widen);
}

}  // namespace

double TensorStats::std() const { return finite() == 0 ? 0 : std::sqrt(m2 / static_cast<double>(finite())); }
double TensorStats::norm() const { return std::sqrt(sum_squares); }

TensorStats stats_of(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kBF16: return run<std::uint16_t, float>(bytes, FromBF16());
    case DType::kF16: return run<std::uint16_t, float>(bytes, FromF16());
    case DType::kF64: return run<double, double>(bytes, Convert<double>());
    case DType::kI64: return run<std::int64_t, double>(bytes, Convert<double>());
    case DType::kI32: return run<std::int32_t, double>(bytes, Convert<double>());
    case DType::kU8: return run<std::uint8_t, float>(bytes, Convert<float>());
    case DType::kF32: break;
  }
  return run<float, float>(bytes, Convert<float>());
}

void merge_stats(TensorStats& stats, const TensorStats& next) {
  if (next.finite() > 0) {
    if (stats.finite() == 0) {
      stats.min = next.min;
      stats.max = next.max;
      stats.mean = next.mean;
      stats.m2 = next.m2;
    } else {
      const auto n = static_cast<double>(stats.finite()), m = static_cast<double>(next.finite());
      const double delta = next.mean - stats.mean;
      stats.min = std::min(stats.min, next.min);
      stats.max = std::max(stats.max, next.max);
      stats.m2 += next.m2 + delta * delta * (n * m / (n + m));
      stats.mean += delta * (m / (n + m));
    }
    stats.sum_squares += next.sum_squares;
  }
  stats.elements += next.elements;
  stats.zeros += next.zeros;
  stats.nans += next.nans;
  stats.infinities += next.infinities;
}

}  // namespace titan::ckpt
