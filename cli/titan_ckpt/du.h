#pragma once
#include <string>

#include "ckpt/ops/du.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_du(const Request& request);

std::string du_text(const ckpt::DuReport& report, const TextStyle& style);
std::string du_json(const ckpt::DuReport& report);

}  // namespace titan::cli
