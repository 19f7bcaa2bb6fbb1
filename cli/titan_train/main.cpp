// titan-train, and titan-train-engine: trains, saves, resumes. Contract: the flags and exit codes that README.md lists.
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ckpt/base/helpers.h"
#include "cli/kit/errors.h"
#include "cli/kit/output.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/program.h"

namespace titan::cli {

namespace {

/// The command line as typed: for a package, that of its launcher script (packaging/titan-train.sh).
std::vector<std::string> typed_words(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (const char* const launcher = std::getenv("TITAN_TRAIN_COMMAND"); launcher != nullptr && !words.empty())
    words[0] = launcher;
  return words;
}

}  // namespace

}  // namespace titan::cli

int main(int argc, char** argv) {
  using namespace titan;
  cli::note_early_stops();
  prctl(PR_SET_NAME, "titan-train");  // a rank that was executed by /proc/self/exe would be called "exe"
  cli::ignore_write_signals();
  // The parent may ignore SIGCHLD; the kernel would then keep no exit codes of ranks and hooks.
  std::signal(SIGCHLD, SIG_DFL);
  const bool json = cli::asks_for_json(argc, argv);
  try {
    const ckpt::Result<cli::Command> command = cli::parse_titan_train(cli::typed_words(argc, argv));
    if (!command.ok()) return cli::report_error(command.status(), json, cli::ColorChoice::kAuto);
    if (const ckpt::Status one = cli::check_front(); !one.ok())
      return cli::report_error(one, json, cli::ColorChoice::kAuto);
    cli::answer_early_stops(*command);
    return cli::run_command(cli::titan_train_program(), *command);
  } catch (const std::exception& error) {
    return cli::report_error(ckpt::status_of(error), json, cli::ColorChoice::kAuto);
  }
}
