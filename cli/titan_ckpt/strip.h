#pragma once
#include <string>

#include "ckpt/ops/strip.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_strip(const Request& request);

std::string strip_text(const ckpt::StripReport& report, const TextStyle& style);
std::string strip_json(const ckpt::StripReport& report);

}  // namespace titan::cli
