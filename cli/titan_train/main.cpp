// titan-train: trains, saves, resumes. Contract: the flags and exit codes that README.md lists.
#include <sys/prctl.h>

#include <exception>

#include "ckpt/base/helpers.h"
#include "cli/kit/errors.h"
#include "cli/kit/output.h"
#include "cli/kit/verb.h"
#include "cli/titan_train/early_stop.h"
#include "cli/titan_train/program.h"

int main(int argc, char** argv) {
  using namespace titan;
  cli::note_early_stops();
  prctl(PR_SET_NAME, "titan-train");  // a rank that was executed by /proc/self/exe would be called "exe"
  cli::ignore_write_signals();
  try {
    const ckpt::Result<cli::Command> command = cli::parse_titan_train({argv, argv + argc});
    if (!command.ok()) return cli::report_error(command.status(), false, cli::ColorChoice::kAuto);
    cli::answer_early_stops(*command);
    return cli::run_command(cli::titan_train_program(), *command);
  } catch (const std::exception& error) {
    return cli::report_error(ckpt::status_of(error), false, cli::ColorChoice::kAuto);
  }
}
