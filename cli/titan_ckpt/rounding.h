#pragma once
// What a conversion to another type cost. Pure.
#include <string>

#include "ckpt/ops/convert_dtype.h"
#include "cli/kit/json_out.h"

namespace titan::cli {

/// "12 elements changed; largest absolute error 0.5 in NAME at element 7".
std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor);
/// "changed", "overflowed", "largest_error", "tensor", "element" of the present object.
void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor);

}  // namespace titan::cli
