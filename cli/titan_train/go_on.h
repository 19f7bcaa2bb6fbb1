#pragma once
// The last line of a run that ended early: the command that goes on.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "recipe/keys/config.h"

namespace titan::cli {

enum class Starter { kUs, kLauncher };  ///< who has started the ranks: this program, or torchrun and the like

/// Prints it where there is something to go on with. `words`: the command line as typed.
void say_how_to_go_on(int exit_code, const std::vector<std::string>& words, const recipe::Config& config,
                      Starter starter, ColorChoice color);

}  // namespace titan::cli
