#pragma once
// How many ranks: by --nproc, or by the launcher that this process is a rank of.
#include <optional>

#include "cli/kit/command_line.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::cli {

/// The value of --nproc, 1 when it was not given. \error kInvalid: no number from 1 to `most`.
ckpt::Result<int> parse_nproc(const Command& command, int most = 4096);
/// Whether --nproc, where it is given, is what the launcher says. \error kInvalid
ckpt::Status check_nproc(const Command& command, int nproc, const std::optional<train::LaunchEnv>& env);
/// What the environment says; nothing without a launcher. \error see train::read_launch_env
ckpt::Result<std::optional<train::LaunchEnv>> launch_env();

}  // namespace titan::cli
