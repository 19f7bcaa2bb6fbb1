#pragma once
// Whether a run could go on with the values of a state.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::convert {

/// Looks at float32 elements, of which `values.front()` is element `first` of the tensor `name` of `source`: all are
/// finite, and none of the second moment (`slot` exp_avg_sq) is negative. The first step with such a value spoils the
/// weights, and its data would be blamed. \error kIncompatible, with the element and its value
ckpt::Status check_state(std::span<const std::byte> values, std::uint64_t first, const std::string& name,
                         std::string_view slot, const std::string& source);

}  // namespace titan::convert
