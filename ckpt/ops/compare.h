#pragma once
// The distance between two stored tensors of the same shape, computed by reading both.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// Elements count as equal if |a - b| <= atol + rtol * |b|, as in NumPy's allclose. Two NaNs are equal.
struct Tolerance {
  double rtol = 0, atol = 0;
  bool operator==(const Tolerance&) const = default;
};

/// Statistics collected in one pass over two tensors.
struct TensorDistance {
  std::uint64_t elements = 0;
  std::uint64_t different = 0;    ///< elements whose bits differ
  std::uint64_t beyond = 0;       ///< different elements outside the tolerance
  std::uint64_t first_index = 0;  ///< row-major index of the first different element
  std::string first_a, first_b;   ///< its two values as text
  std::uint64_t non_finite = 0;   ///< different elements with NaN or infinity on either side; not in maxima and sums
  double max_abs = 0;             ///< largest |a - b|
  double max_rel = 0;             ///< largest |a - b| / max(|a|, |b|)
  double sum_abs = 0;             ///< sum of |a - b| over all elements
  double sum_squares = 0;         ///< sum of (a - b)^2
  /// Sums of a^2, b^2 and a * b over the elements that are finite on both sides.
  double squares_a = 0, squares_b = 0, products = 0;
  bool operator==(const TensorDistance&) const = default;

  /// Whether finite values differ. If not, max_abs to sum_squares are 0 because nothing was added to them.
  bool measured() const { return different > non_finite; }
  double norm() const;  ///< Euclidean norm of a - b
  /// Relative change |a - b| / |a| (Euclidean norms); infinite if a is all zeros.
  double change() const;
  /// Cosine similarity of a and b; NaN if one is all zeros.
  double cosine() const;
  double mean_abs() const { return elements == 0 ? 0 : sum_abs / static_cast<double>(elements); }
  double rms() const;
};

/// Adds the elements of `a` and `b` (same size, whole elements) to `distance`. The first element has index `base`.
/// Pure.
void add_distance(TensorDistance& distance, DType dtype, std::uint64_t base, std::span<const std::byte> a,
                  std::span<const std::byte> b, const Tolerance& tolerance = {});

/// Adds `next`, the distance of the elements that follow, to `distance`.
void merge_distance(TensorDistance& distance, const TensorDistance& next);

/// True for equal types, and for float32 with bfloat16, which converts to float32 without loss.
bool comparable_by_value(DType a, DType b);

/// Memory of leaf_distance(), for several calls in a row.
struct DistanceBuffers {
  std::vector<std::byte> a, b;
};

/// Compares `leaves` of `ref_a` in `a` with the same elements of `ref_b` in `b`. Leaf sizes may differ; dtypes must be
/// comparable_by_value(). Thread-safe, with a `buffers` for each thread. \error as CheckpointReader::read
Result<TensorDistance> leaf_distance(const CheckpointReader& a, const TensorRef& ref_a, LeafRange leaves,
                                     const CheckpointReader& b, const TensorRef& ref_b, const Tolerance& tolerance,
                                     DistanceBuffers& buffers);

}  // namespace titan::ckpt
