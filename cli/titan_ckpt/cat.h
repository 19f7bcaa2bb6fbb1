#pragma once
#include <string>

#include "ckpt/ops/cat.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string cat_text(const ckpt::CatReport& report, const TextStyle& style);
std::string cat_json(const ckpt::CatReport& report);

/// "[0:10, 3]": what was asked for, with every end spelled out.
std::string slice_text(const ckpt::Slice& slice);

}  // namespace titan::cli
