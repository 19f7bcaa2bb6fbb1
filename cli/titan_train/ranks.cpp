#include "cli/titan_train/ranks.h"

#include "ckpt/base/host.h"
#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"

namespace titan::cli {

using ckpt::Result;
using ckpt::Status;

Result<int> parse_nproc(const Command& command, int most) {
  const std::string text = command.value("nproc").value_or("1");
  const std::optional<int> count = ckpt::number_of<int>(text);
  if (!count || *count < 1 || *count > most)
    return ckpt::invalid("--nproc " + text + ": expected a number of ranks from 1 to " + std::to_string(most));
  return *count;
}

Status check_nproc(const Command& command, int nproc, const std::optional<train::LaunchEnv>& env) {
  if (!env || !command.has("nproc") || nproc == env->world) return ckpt::ok_status();
  return ckpt::invalid("--nproc " + std::to_string(nproc) +
                       ", but the environment says WORLD_SIZE=" + std::to_string(env->world))
      .with_hint("leave out --nproc under a launcher, or unset RANK and WORLD_SIZE");
}

Result<std::optional<train::LaunchEnv>> launch_env() { return train::read_launch_env(ckpt::environment); }

}  // namespace titan::cli
