#pragma once
#include <string>

#include "ckpt/ops/reshard.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string reshard_text(const ckpt::ReshardReport& report, const TextStyle& style);
std::string reshard_json(const ckpt::ReshardReport& report);

}  // namespace titan::cli
