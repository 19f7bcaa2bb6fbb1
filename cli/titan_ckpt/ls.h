#pragma once
#include <string>

#include "ckpt/ops/list.h"
#include "ckpt/ops/list_runs.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string ls_text(const ckpt::ListReport& report, const TextStyle& style);
std::string ls_json(const ckpt::ListReport& report);
/// The list of the runs in a folder.
std::string ls_runs_text(const std::vector<ckpt::ListedRun>& runs, const TextStyle& style);
std::string ls_runs_json(const std::string& folder, const std::vector<ckpt::ListedRun>& runs);

/// When a step was saved, in seconds since the epoch.
std::int64_t saved_at(const ckpt::ListedStep& step);

}  // namespace titan::cli
