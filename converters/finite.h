#pragma once
// Checks whether a run can continue with the values of its weights and moments.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::convert {

/// Checks float32 elements of the tensor `name` of `source`, from element `first` on: all must be finite, and those of
/// the second moment (`slot` exp_avg_sq) not negative. `slot` is empty for weights. With other values the first step
/// after a resume would make the weights NaN or infinite. \error kIncompatible, naming the element and its value
ckpt::Status check_state(std::span<const std::byte> values, std::uint64_t first, const std::string& name,
                         std::string_view slot, const std::string& source);

}  // namespace titan::convert
