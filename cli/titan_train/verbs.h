#pragma once
// The verbs of titan-train; each returns the process's exit code.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/io/weight_source.h"
#include "cli/titan_train/args.h"
#include "cli/ui/terminal.h"
#include "libtrain/launch/launch_env.h"

namespace titan::train_cli {

/// Starts local ranks, or is one when a launcher's environment says so. `words`: the whole command line, for the ranks.
int run_verb(const Arguments& arguments, const std::vector<std::string>& words);
int config_verb(const Arguments& arguments);
/// Says what `run` would do, without doing it; returns what `run` would answer before its first step (0 where it would
/// train).
int plan_verb(const Arguments& arguments);
/// Prints the loss of a checkpoint on a token file.
int eval_verb(const Arguments& arguments);
/// Prints the completion script for the shell that the argument names.
int completion_verb(const Arguments& arguments);

/// Opens weights of every format that this program reads.
ckpt::WeightOpener weight_opener();
/// The value of --nproc, 1 when it was not given. \error kInvalid: no number from 1 to `most`.
ckpt::Result<int> parse_nproc(const ui::Command& command, int most = 4096);
/// Whether --nproc, where it is given, is what the launcher says. \error kInvalid
ckpt::Status check_nproc(const ui::Command& command, int nproc, const std::optional<train::LaunchEnv>& env);
/// The value of --color. \error kInvalid.
ckpt::Result<ui::ColorChoice> parse_color(const ui::Command& command);

}  // namespace titan::train_cli
