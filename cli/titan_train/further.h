#pragma once
// How a run that has done all its steps goes further.
#include <string>
#include <vector>

#include "recipe/keys/config.h"

namespace titan::cli {

/// The command line as typed with twice the steps, and what such a change needs. A start with it goes on where the run
/// ended.
std::string line_to_go_further(const std::vector<std::string>& words, const recipe::Config& config);

}  // namespace titan::cli
