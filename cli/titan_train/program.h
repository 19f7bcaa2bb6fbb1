#pragma once
// The program titan-train: its verbs and flags, its command line, and stop signals that arrive before a run has
// started.
#include "cli/kit/verb.h"

namespace titan::cli {

const Program& titan_train_program();

/// Reads the whole command line, the program's name first. \error kInvalid, kUnsupported: see parse_command_line.
ckpt::Result<Command> parse_titan_train(const std::vector<std::string>& words);

/// Starts local ranks, or becomes a rank if a launcher's environment says so.
ckpt::Result<Answer> run_run(const Request& request);
/// Prints the resolved configuration, or what a change of each key means.
ckpt::Result<Answer> run_config(const Request& request);

/// Records stop signals from now on, since LibTorch's constructors take a fifth of a second before main begins. Call it
/// first in main; if possible it runs even before the constructors of libraries.
void note_early_stops();

/// Decides how stop signals are handled from now on. A rank continues to record them and reports why it leaves. Every
/// other process ends at once with a message, also for a signal recorded earlier.
void answer_early_stops(const Command& command);

}  // namespace titan::cli
