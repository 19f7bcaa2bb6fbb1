#pragma once
#include <string>

#include "ckpt/ops/list.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_ls(const Request& request);

std::string ls_text(const ckpt::ListReport& report, const TextStyle& style);
std::string ls_json(const ckpt::ListReport& report);

/// When a step was saved, in seconds since the epoch.
std::int64_t saved_at(const ckpt::ListedStep& step);

}  // namespace titan::cli
