#pragma once
// The number of ranks: from --nproc, or from the launcher (torchrun, Slurm) that started this process as a rank.
#include <optional>

#include "cli/kit/command_line.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::cli {

/// The value of --nproc; 1 if it was not given. \error kInvalid: not a number from 1 to `most`
ckpt::Result<int> parse_nproc(const Command& command, int most = 4096);
/// Checks that --nproc, if given, equals the launcher's number of ranks. \error kInvalid
ckpt::Status check_nproc(const Command& command, int nproc, const std::optional<train::LaunchEnv>& env);
/// What a launcher has set in this process's environment; nullopt without a launcher. \error as train::read_launch_env
ckpt::Result<std::optional<train::LaunchEnv>> launch_env();

}  // namespace titan::cli
