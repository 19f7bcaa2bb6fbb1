#pragma once
// How much each set of a mixture gives; the order of their samples is ckpt/plan/mixture. Pure.
#include <cstdint>
#include <span>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "recipe/plan/data_sets.h"

namespace titan::train {

/// The set of `choice`, whose files have `samples` samples in one pass; without a share yet.
ckpt::MixedSet set_of(const recipe::DataSetChoice& choice, std::uint64_t samples, std::uint64_t files);

/// Gives each of `position.sets` its share by the weight of its choice. What a share is does not depend on the order
/// in which the sets are written. \error kInvalid: two sets have the same contents, a weight is too small beside the
/// others
ckpt::Status share_out(std::span<const recipe::DataSetChoice> choices, ckpt::DataPosition& position);

}  // namespace titan::train
