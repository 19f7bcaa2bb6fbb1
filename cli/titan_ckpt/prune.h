#pragma once
#include <string>

#include "ckpt/ops/prune.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_prune(const Request& request);

std::string prune_text(const ckpt::PruneReport& report, const TextStyle& style);
std::string prune_json(const ckpt::PruneReport& report);

}  // namespace titan::cli
