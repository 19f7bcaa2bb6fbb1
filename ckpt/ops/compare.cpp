#include "ckpt/ops/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ckpt/base/integers.h"
#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/element.h"

namespace titan::ckpt {

namespace {

/// Reads the elements [begin, end) of a tensor, in whole leaves.
Result<std::span<const std::byte>> read_elements(const CheckpointReader& reader, const TensorRef& ref,
                                                 std::uint64_t begin, std::uint64_t end,
                                                 std::vector<std::byte>& buffer) {
  const LeafGrid grid = reader.manifest().parameters[ref.index].meta.grid(reader.manifest().leaf_elements);
  const std::uint64_t size = dtype_size(reader.manifest().stored(ref)->dtype);
  const std::uint64_t first = begin / grid.leaf_elements, last = ceil_div(end, grid.leaf_elements);
  buffer.resize((grid.begin(last) - grid.begin(first)) * size);
  TITAN_RETURN_IF_ERROR(reader.read(ref, {first, last - first}, buffer));
  return std::span<const std::byte>(buffer).subspan((begin - grid.begin(first)) * size, (end - begin) * size);
}

/// `elements`, float32 or bfloat16, as float32.
std::vector<std::byte> widened(DType dtype, std::span<const std::byte> elements) {
  if (dtype == DType::kF32) return {elements.begin(), elements.end()};
  std::vector<std::byte> wide;
  append_widened(elements, wide);
  return wide;
}

/// Adds the products of elements that are finite on both sides.
void add_norms(TensorDistance& distance, double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  distance.squares_a += x * x;
  distance.squares_b += y * y;
  distance.products += x * y;
}

void add_element(TensorDistance& distance, double x, double y, const Tolerance& tolerance) {
  if (!std::isfinite(x) || !std::isfinite(y)) {
    ++distance.non_finite;
    distance.beyond += !(std::isnan(x) && std::isnan(y));
    return;
  }
  const double error = std::fabs(x - y), scale = std::max(std::fabs(x), std::fabs(y));
  distance.beyond += error > tolerance.atol + tolerance.rtol * std::fabs(y);
  distance.max_abs = std::max(distance.max_abs, error);
  if (scale > 0) distance.max_rel = std::max(distance.max_rel, error / scale);
  add_norms(distance, x, y);
  distance.sum_abs += error;
  distance.sum_squares += error * error;
}

// `Bits` is an integer of the element's size, by which the bits of two elements are compared.
template <typename Bits, typename Value>
void add_elements(TensorDistance& distance, DType dtype, std::uint64_t base, std::span<const std::byte> a,
                  std::span<const std::byte> b, const Tolerance& tolerance, Value value) {
  for (std::uint64_t at = 0; at < a.size(); at += sizeof(Bits)) {
    Bits left, right;
    std::memcpy(&left, a.data() + at, sizeof left);
    std::memcpy(&right, b.data() + at, sizeof right);
    if (left == right) {
      add_norms(distance, value(a.data() + at), value(a.data() + at));
      continue;
    }
    if (distance.different++ == 0) {
      distance.first_index = base + at / sizeof(Bits);
      distance.first_a = element_text(dtype, a.data() + at);
      distance.first_b = element_text(dtype, b.data() + at);
    }
    add_element(distance, value(a.data() + at), value(b.data() + at), tolerance);
  }
}

}  // namespace

bool comparable_by_value(DType a, DType b) {
  const auto known = [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; };
  return a == b || (known(a) && known(b));
}

double TensorDistance::rms() const {
  return elements == 0 ? 0 : std::sqrt(sum_squares / static_cast<double>(elements));
}

double TensorDistance::norm() const { return std::sqrt(sum_squares); }

double TensorDistance::change() const { return std::sqrt(sum_squares / squares_a); }

double TensorDistance::cosine() const {
  // A root of each sum, because their product may overflow.
  return std::clamp(products / (std::sqrt(squares_a) * std::sqrt(squares_b)), -1.0, 1.0);
}

void add_distance(TensorDistance& distance, DType dtype, std::uint64_t base, std::span<const std::byte> a,
                  std::span<const std::byte> b, const Tolerance& tolerance) {
  distance.elements += a.size() / dtype_size(dtype);
  if (a.empty()) return;
  const auto any = [dtype](const std::byte* bytes) { return element_value(dtype, bytes); };
  // A constant dtype in the most common case, so that the compiler makes a simple loop.
  const auto f32 = [](const std::byte* bytes) { return element_value(DType::kF32, bytes); };
  if (dtype == DType::kF32) return add_elements<std::uint32_t>(distance, dtype, base, a, b, tolerance, f32);
  switch (dtype_size(dtype)) {
    case 1: return add_elements<std::uint8_t>(distance, dtype, base, a, b, tolerance, any);
    case 2: return add_elements<std::uint16_t>(distance, dtype, base, a, b, tolerance, any);
    case 4: return add_elements<std::uint32_t>(distance, dtype, base, a, b, tolerance, any);
    default: return add_elements<std::uint64_t>(distance, dtype, base, a, b, tolerance, any);
  }
}

void merge_distance(TensorDistance& distance, const TensorDistance& next) {
  if (distance.different == 0) {
    distance.first_index = next.first_index;
    distance.first_a = next.first_a;
    distance.first_b = next.first_b;
  }
  distance.elements += next.elements;
  distance.different += next.different;
  distance.beyond += next.beyond;
  distance.non_finite += next.non_finite;
  distance.max_abs = std::max(distance.max_abs, next.max_abs);
  distance.max_rel = std::max(distance.max_rel, next.max_rel);
  distance.sum_abs += next.sum_abs;
  distance.sum_squares += next.sum_squares;
  distance.squares_a += next.squares_a;
  distance.squares_b += next.squares_b;
  distance.products += next.products;
}

Result<TensorDistance> leaf_distance(const CheckpointReader& a, const TensorRef& ref_a, LeafRange leaves,
                                     const CheckpointReader& b, const TensorRef& ref_b, const Tolerance& tolerance,
                                     DistanceBuffers& buffers) {
  const LeafGrid grid = a.manifest().parameters[ref_a.index].meta.grid(a.manifest().leaf_elements);
  const std::uint64_t begin = grid.begin(leaves.first), end = grid.begin(leaves.end());
  TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> left,
                         about(read_elements(a, ref_a, begin, end, buffers.a), a.path()));
  TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> right,
                         about(read_elements(b, ref_b, begin, end, buffers.b), b.path()));
  TensorDistance distance;
  const DType dtype_a = a.manifest().stored(ref_a)->dtype, dtype_b = b.manifest().stored(ref_b)->dtype;
  if (dtype_a == dtype_b) {
    add_distance(distance, dtype_a, begin, left, right, tolerance);
  } else {
    const std::vector<std::byte> wide_a = widened(dtype_a, left), wide_b = widened(dtype_b, right);
    add_distance(distance, DType::kF32, begin, wide_a, wide_b, tolerance);
  }
  return distance;
}

}  // namespace titan::ckpt
