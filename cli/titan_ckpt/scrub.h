#pragma once
// `titan-ckpt scrub`.
#include <string>

#include "ckpt/ops/scrub.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_scrub(const Request& request);

std::string scrub_text(const ckpt::ScrubReport& report, const TextStyle& style);
std::string scrub_json(const std::string& run, const ckpt::ScrubReport& report);

}  // namespace titan::cli
