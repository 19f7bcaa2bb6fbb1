#pragma once
// What titan-train is: its verbs and flags, and its command line.
#include "cli/kit/command_line.h"

namespace titan::cli {

const Program& titan_train_program();

/// Reads the whole command line, the program's name first. \error kInvalid, kUnsupported: see parse_command_line.
ckpt::Result<Command> parse_titan_train(const std::vector<std::string>& words);

}  // namespace titan::cli
