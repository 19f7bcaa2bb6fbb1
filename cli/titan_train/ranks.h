#pragma once
// The number of ranks: from --nproc, or from the launcher if this process is a rank of one.
#include <optional>

#include "cli/kit/command_line.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::cli {

/// The value of --nproc, 1 when it was not given. \error kInvalid: not a number from 1 to `most`.
ckpt::Result<int> parse_nproc(const Command& command, int most = 4096);
/// Checks that --nproc, if given, equals the launcher's number. \error kInvalid
ckpt::Status check_nproc(const Command& command, int nproc, const std::optional<train::LaunchEnv>& env);
/// The launch environment of this process; nothing without a launcher. \error see train::read_launch_env
ckpt::Result<std::optional<train::LaunchEnv>> launch_env();

}  // namespace titan::cli
