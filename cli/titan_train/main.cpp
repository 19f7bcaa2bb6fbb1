// titan-train: trains, saves, resumes. Contract: the flags and exit codes that README.md lists.
#include <exception>
#include <string>
#include <vector>

#include "ckpt/base/helpers.h"
#include "cli/titan_train/args.h"
#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "cli/ui/version.h"

namespace titan {
namespace {

int main_of(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto arguments = train_cli::parse_arguments({words.begin() + 1, words.end()});
  if (!arguments.ok()) return ui::report_error(arguments.status(), false, ui::ColorChoice::kAuto);
  const ui::Command& command = arguments->command;
  if (command.help || command.version) {
    ckpt::Status status;
    ui::deliver(
        1, command.version ? ui::version_line("titan-train") + "\n" : ui::help_text(train_cli::program(), command.verb),
        &status);
    return 0;
  }
  if (command.verb == "config") return train_cli::config_verb(*arguments);
  if (command.verb == "eval") return train_cli::eval_verb(*arguments);
  if (command.verb == "plan") return train_cli::plan_verb(*arguments);
  if (command.verb == "completion") return train_cli::completion_verb(*arguments);
  return train_cli::run_verb(*arguments, words);
}

}  // namespace
}  // namespace titan

int main(int argc, char** argv) {
  titan::ui::ignore_write_signals();
  try {
    return titan::main_of(argc, argv);
  } catch (const std::exception& error) {
    return titan::ui::report_error(titan::ckpt::status_of(error), false, titan::ui::ColorChoice::kAuto);
  }
}
