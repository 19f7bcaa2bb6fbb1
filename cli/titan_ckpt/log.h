#pragma once
#include <string>
#include <vector>

#include "ckpt/ops/run_history.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string log_text(const ckpt::RunHistory& history, const TextStyle& style);
std::string log_json(const ckpt::RunHistory& history);
std::string blame_text(const ckpt::RunHistory& history, const std::string& key,
                       const std::vector<ckpt::KeyOrigin>& origins, const TextStyle& style);
std::string blame_json(const ckpt::RunHistory& history, const std::string& key,
                       const std::vector<ckpt::KeyOrigin>& origins);

}  // namespace titan::cli
