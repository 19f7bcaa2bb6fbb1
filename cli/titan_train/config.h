#pragma once
#include "cli/kit/verb.h"

namespace titan::cli {

/// Prints the resolved configuration, or what a change of each key means.
Answer run_config(const Request& request);

}  // namespace titan::cli
