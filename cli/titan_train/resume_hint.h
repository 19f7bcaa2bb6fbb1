#pragma once
// The last line of a run: the command that resumes it, or that trains more steps than it had.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

enum class Starter { kUs, kLauncher };  ///< who started the ranks: this program, or a launcher such as torchrun

/// Prints that line if the run can be resumed. `words`: the command line as typed.
void say_how_to_go_on(int exit_code, const std::vector<std::string>& words, const recipe::Config& config,
                      Starter starter, ColorChoice color);

/// The typed command line with twice the steps, and what this change needs. A start with it continues where the run
/// ended.
std::string line_to_go_further(const std::vector<std::string>& words, const recipe::Config& config);

}  // namespace titan::cli
