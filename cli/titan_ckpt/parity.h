#pragma once
// `titan-ckpt parity`.
#include <string>

#include "ckpt/ops/parity_set.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_parity(const Request& request);

std::string parity_text(const ckpt::ParityReport& report, const TextStyle& style);
std::string parity_json(const ckpt::ParityReport& report);

}  // namespace titan::cli
