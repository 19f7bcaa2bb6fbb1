#pragma once
// Prints the report of `titan-ckpt cat`: values of a tensor.
#include <string>

#include "ckpt/ops/cat.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string cat_text(const ckpt::CatReport& report, const TextStyle& style);
std::string cat_json(const ckpt::CatReport& report);

/// A slice with all bounds written out: "[0:10, 3]" are the elements 0 to 9 of dimension 0 at index 3 of dimension 1.
std::string slice_text(const ckpt::Slice& slice);

}  // namespace titan::cli
