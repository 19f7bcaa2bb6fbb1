#pragma once
// The program titan-train: its verbs and flags, its command line, and stop signals that arrive before a run has
// started.
#include "cli/kit/verb.h"

namespace titan::cli {

const Program& titan_train_program();

/// Parses the whole command line. `words`: the program's name, then its arguments. \error as parse_command_line
ckpt::Result<Command> parse_titan_train(const std::vector<std::string>& words);

/// The verb `run`: starts the ranks of this host and waits for them. If a launcher such as torchrun has started this
/// process as a rank, runs that rank.
ckpt::Result<Answer> run_run(const Request& request);
/// The verb `config`: prints the resolved configuration, or for each key what a changed value means.
ckpt::Result<Answer> run_config(const Request& request);
/// Prints what `run` would do, without doing it. Its error is the one that `run` would give before its first step.
ckpt::Result<Answer> run_plan(const Request& request);

/// Records stop signals from now on. Call it first in main(). Except in sanitizer builds, recording already begins
/// before the constructors of libraries run, since those of LibTorch take 0.2 s.
void note_early_stops();

/// Decides how stop signals are handled from now on, including one that was recorded earlier. A rank continues to
/// record stop signals, and stops with a message when it polls for them. Every other process ends at once with a
/// message.
void answer_early_stops(const Command& command);

}  // namespace titan::cli
