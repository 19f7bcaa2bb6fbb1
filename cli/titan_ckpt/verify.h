#pragma once
#include <string>

#include "ckpt/ops/verify.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_verify(const Request& request);

std::string verify_text(const ckpt::VerifySummary& summary, const TextStyle& style);
std::string verify_json(const ckpt::VerifySummary& summary);

}  // namespace titan::cli
