#pragma once
#include "cli/kit/verb.h"

namespace titan::cli {

/// Starts local ranks, or is one when a launcher's environment says so.
Answer run_run(const Request& request);

}  // namespace titan::cli
