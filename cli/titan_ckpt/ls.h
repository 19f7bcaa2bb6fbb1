#pragma once
// Prints the report of `titan-ckpt ls`.
#include <string>

#include "ckpt/ops/list.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string ls_text(const ckpt::ListReport& report, const TextStyle& style);
std::string ls_json(const ckpt::ListReport& report);

}  // namespace titan::cli
