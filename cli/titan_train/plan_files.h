#pragma once
// Files that `plan` writes on request: the schedule as a table, and as a trace.
#include "ckpt/base/result.h"
#include "cli/kit/verb.h"
#include "cli/titan_train/plan.h"

namespace titan::cli {

/// Writes what --schedule-csv and --trace ask for, and returns a line for each file. \error kInvalid: a file is there,
/// or the step is too long to be written whole
ckpt::Result<std::vector<std::string>> write_plan_files(const Request& request, const PlanReport& report);

}  // namespace titan::cli
