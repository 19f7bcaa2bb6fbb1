#pragma once
// The verbs of titan-train; each returns the process's exit code.
#include <string>
#include <vector>

#include "cli/titan_train/args.h"

namespace titan::train_cli {

/// Starts local ranks, or is one when a launcher's environment says so. `words`: the whole command line, for the ranks.
int run_verb(const Arguments& arguments, const std::vector<std::string>& words);
int config_verb(const Arguments& arguments);

}  // namespace titan::train_cli
