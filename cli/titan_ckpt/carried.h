#pragma once
// Text about carried files and rounding, for tools that make a checkpoint from another one. Pure.
#include <string>
#include <vector>

#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/derive.h"
#include "cli/kit/json_out.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// "5 files, 1.2 MiB: hard links", then a line for each file with another method, with the reason.
std::string carried_text(const std::vector<ckpt::CarriedFile>& files, bool verified, const TextStyle& style);
/// "files":[{"path","bytes","method","reason"}].
void carried_json(JsonOut& json, const std::vector<ckpt::CarriedFile>& files);

/// "12 elements changed; largest absolute error 0.5 in NAME at element 7". `overflowing`: the tensor of the first
/// element that became infinite.
std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor, const std::string& overflowing);
/// "changed", "overflowed", "largest_error", "tensor", "element" of the present object.
void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor);

}  // namespace titan::cli
