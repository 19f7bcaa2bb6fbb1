// titan-ckpt: reads the command line, runs one verb, delivers its answer.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "ckpt/base/helpers.h"
#include "ckpt/lock/lock_wait.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/output.h"
#include "cli/kit/stop.h"
#include "cli/kit/verb.h"
#include "cli/titan_ckpt/heap.h"
#include "cli/titan_ckpt/program.h"

namespace titan::cli {

namespace {

int main_of(const std::vector<std::string>& arguments, bool json) {
  stop_at_once({.json = json});
  ignore_write_signals();
  const Program program = titan_ckpt_program();
  const ckpt::Result<Command> command = parse_command_line(program, arguments);
  if (!command.ok()) return report_error(command.status(), json, ColorChoice::kAuto);
  const ckpt::Result<ColorChoice> color = color_choice(*command);
  if (!color.ok()) return report_error(color.status(), json, ColorChoice::kAuto);
  ckpt::lock_wait().say = [json, &color](const std::string& text) { report_warning(text, json, *color); };
  ckpt::lock_wait().cancel = stop_on_signals();
  return run_command(program, *command);
}

}  // namespace

}  // namespace titan::cli

int main(int argc, char** argv) {
  titan::cli::prepare_heap();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  // Known before parsing, so that errors about the command line itself have the form that was asked for.
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  try {
    return titan::cli::main_of(arguments, json);
  } catch (const std::exception& error) {  // memory ran out before a verb began
    return titan::cli::report_error(titan::ckpt::status_of(error), json, titan::cli::ColorChoice::kAuto);
  }
}
