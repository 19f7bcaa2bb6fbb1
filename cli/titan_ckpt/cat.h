#pragma once
#include <string>

#include "ckpt/ops/cat.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string cat_text(const ckpt::CatReport& report, const TextStyle& style);
std::string cat_json(const ckpt::CatReport& report);

/// The requested slice with all ends written out: "[0:10, 3]".
std::string slice_text(const ckpt::Slice& slice);

}  // namespace titan::cli
