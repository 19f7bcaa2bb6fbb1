#pragma once
#include "cli/kit/verb.h"

namespace titan::cli {

/// Adds the next command to the error of a verb: the one that names all damage, or the one that converts the
/// checkpoint.
void explain_error(const Request& request, ckpt::Status& error);

}  // namespace titan::cli
