#pragma once
// The share of samples of each set of a mixture; ckpt/plan/mixture decides their order. Pure.
#include <cstdint>
#include <span>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "recipe/plan/data_sets.h"

namespace titan::train {

/// The entry of a mixture for the configured set `choice`, still without a share. The set has `files` files, and one
/// epoch of it has `samples` samples.
ckpt::MixedSet set_of(const recipe::DataSetChoice& choice, std::uint64_t samples, std::uint64_t files);

/// Gives each of `position.sets` its share by the weight in `choices`. Shares do not depend on the order in which the
/// sets are written. \error kInvalid: two sets have the same contents, or a weight is too small compared with the
/// others
ckpt::Status share_out(std::span<const recipe::DataSetChoice> choices, ckpt::DataPosition& position);

}  // namespace titan::train
