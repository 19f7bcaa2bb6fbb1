#pragma once
// Checks the initial weights of a new run: a non-finite value would end its first step.
#include <cstdint>
#include <span>

#include "libtrain/job/start/init_map.h"

namespace titan::train {

/// Fills `out` with elements of `pair`'s weight from `first` on, with rows in Titan's order. \error as
/// WeightSource::read
ckpt::Status read_matched(const ckpt::WeightSource& source, const WeightMatch::Pair& pair, std::uint64_t first,
                          std::span<std::byte> out);
/// The error (kIncompatible) that element `element` of the weight `weight` of `source` is `value`, which is not finite,
/// or is beyond the range of float32.
ckpt::Status not_finite(const ckpt::WeightSource& source, std::size_t weight, std::uint64_t element, double value);
/// Reads what `match` loads, a few MiB at a time. \error kIncompatible: not_finite() of the first element that is not
/// finite, or is beyond the range of float32; as WeightSource::read
ckpt::Status check_finite(const ckpt::WeightSource& source, const WeightMatch& match);
/// Size of everything that `match` loads, in bytes.
std::uint64_t bytes_of(const ckpt::WeightSource& source, const WeightMatch& match);

}  // namespace titan::train
