#pragma once
// What titan-ckpt is: its verbs and flags.
#include "cli/kit/command_line.h"

namespace titan::cli {

/// Every verb and flag.
Program titan_ckpt_program();

}  // namespace titan::cli
