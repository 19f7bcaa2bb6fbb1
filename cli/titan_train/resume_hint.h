#pragma once
// The last line that a run prints: the command that resumes it, or that trains it for more steps.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

/// The program that started the ranks. kTitanTrain: titan-train; kLauncher: another one, such as torchrun.
enum class Starter { kTitanTrain, kLauncher };

/// Prints the command that resumes the run, if it can be resumed. `words`: the command line as typed.
void print_resume_command(int exit_code, const std::vector<std::string>& words, const recipe::Config& config,
                          Starter starter, ColorChoice color);

/// A command line that trains a complete run on, to twice its steps: the typed command line with the changed
/// training.steps, and the flags that allow this change.
std::string extend_command(const std::vector<std::string>& words, const recipe::Config& config);

}  // namespace titan::cli
