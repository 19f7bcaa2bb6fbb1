#pragma once
// The last line of a run: the command that goes on, or goes further than all its steps.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"
#include "recipe/keys/config.h"

namespace titan::cli {

enum class Starter { kUs, kLauncher };  ///< who has started the ranks: this program, or torchrun and the like

/// Prints it where there is something to go on with. `words`: the command line as typed.
void say_how_to_go_on(int exit_code, const std::vector<std::string>& words, const recipe::Config& config,
                      Starter starter, ColorChoice color);

/// The command line as typed with twice the steps, and what such a change needs. A start with it goes on where the run
/// ended.
std::string line_to_go_further(const std::vector<std::string>& words, const recipe::Config& config);

}  // namespace titan::cli
