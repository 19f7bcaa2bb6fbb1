#pragma once
#include <string>

#include "ckpt/ops/diff.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_diff(const Request& request);

/// With `stats` means of the differences, too.
std::string diff_text(const ckpt::DiffReport& report, bool stats, const TextStyle& style);
std::string diff_json(const ckpt::DiffReport& report, bool stats);

}  // namespace titan::cli
