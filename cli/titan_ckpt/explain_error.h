#pragma once
#include "cli/kit/verb.h"

namespace titan::cli {

/// Adds to the error of a verb the next command: what names all damage, what makes a checkpoint of ours.
void explain_error(const Request& request, ckpt::Status& error);

}  // namespace titan::cli
