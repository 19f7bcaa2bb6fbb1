#pragma once
// How far two stored tensors of the same shape and dtype are apart, by reading both, one leaf at a time.
#include <cstdint>
#include <functional>
#include <string>

#include "ckpt/base/cancel.h"
#include "ckpt/io/reader.h"

namespace titan::ckpt {

struct TensorDistance {
  std::uint64_t elements = 0;
  std::uint64_t different = 0;      ///< elements whose bits differ
  std::uint64_t first_index = 0;    ///< row-major, of the first of them
  std::string first_a, first_b;     ///< its two values, shortest text
  std::uint64_t non_finite = 0;     ///< different elements of which a side is NaN or infinite; not in the maxima
  double max_abs = 0;               ///< largest |a - b|
  double max_rel = 0;               ///< largest |a - b| / max(|a|, |b|)
  bool operator==(const TensorDistance&) const = default;
};

/// Adds the elements of `a` and `b` (same size, whole elements) that follow element `base` to `distance`. Pure.
void add_distance(TensorDistance& distance, DType dtype, std::uint64_t base, std::span<const std::byte> a,
                  std::span<const std::byte> b);

/// Compares `ref_a` of `a` with `ref_b` of `b`; leaf sizes may differ. `read` is called with the bytes read so far.
/// \error kCorrupt, kInterrupted, kTerminated.
Result<TensorDistance> tensor_distance(const CheckpointReader& a, const TensorRef& ref_a, const CheckpointReader& b,
                                       const TensorRef& ref_b, const std::function<void(std::uint64_t)>& read = {}, const CancelToken& cancel = {});

}  // namespace titan::ckpt
