#pragma once
// Runs a verb of either program and prints its answer.
#include <string>
#include <vector>

#include "cli/kit/command_line.h"
#include "cli/kit/terminal.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::cli {

/// What a verb gets.
struct Request {
  const Program& program;
  const Verb& verb;
  const Command& command;
  ckpt::Fs& fs;
  bool json = false;  ///< the answer is one JSON document
  TextStyle style;
  ColorChoice color = ColorChoice::kAuto;
};

/// What a verb prints and returns.
struct Answer {
  std::string text;                     ///< for stdout: text, or one JSON document with --json
  std::vector<std::string> notes = {};  ///< for stderr; not printed with --json, whose document has them
  std::vector<std::string> warnings =
      {};                   ///< for stderr, as JSON objects with --json: warnings that are not in the document
  ckpt::Status error = {};  ///< printed after `text`; if set, its exit code is returned
  int exit_code = 0;
};

/// Runs the verb of `command`, or prints help, version or licenses. Prints the answer and returns the exit code.
int run_command(const Program& program, Command command);

}  // namespace titan::cli
