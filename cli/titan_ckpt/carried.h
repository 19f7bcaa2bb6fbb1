#pragma once
// What verbs that make a checkpoint from another one (strip, reshard, ...) print about two things: files that were
// taken over unchanged ("carried"), and rounding to another dtype. Pure.
#include <string>
#include <vector>

#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/derive.h"
#include "cli/kit/json_out.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// "hard links of 5 files, 1.2 MiB", then a line for each file that could not be linked, with the reason, then a line
/// that says whether the digests of the files were checked (`verified`).
std::string carried_text(const std::vector<ckpt::CarriedFile>& files, bool verified, const TextStyle& style);
/// Writes the member "files": [{"path","bytes","method","reason"}].
void carried_json(JsonOut& json, const std::vector<ckpt::CarriedFile>& files);

/// "12 elements changed; largest absolute error 0.5 in NAME at element 7". `tensor`: the tensor with the largest error.
/// `overflowing`: the tensor with the first element that became infinite.
std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor, const std::string& overflowing);
/// Writes the members "changed", "overflowed", "largest_error", "tensor" and "element".
void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor);

}  // namespace titan::cli
