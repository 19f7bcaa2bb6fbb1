#pragma once
// titan-train's flag table, and what was typed, converted once into what it means.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/ui/command_line.h"

namespace titan::train_cli {

const ui::Program& program();

/// A parsed command line of titan-train.
struct Arguments {
  ui::Command command;
  std::vector<std::string> overrides;  ///< words about keys as typed, for load_config
};

/// \error kInvalid, kUnsupported: see ui::parse_command_line.
ckpt::Result<Arguments> parse_arguments(const std::vector<std::string>& words);

/// The words of every --allow.
std::vector<std::string> allow_words(const ui::Command& command);

}  // namespace titan::train_cli
