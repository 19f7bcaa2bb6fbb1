#pragma once
// Runs a verb of either program: its request, its answer, and printing the answer.
#include <string>
#include <vector>

#include "cli/kit/command_line.h"
#include "cli/kit/terminal.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::cli {

struct Request {
  const Program& program;
  const Verb& verb;
  const Command& command;
  ckpt::Fs& fs;
  bool json = false;  ///< the answer is one JSON document
  TextStyle style;
  ColorChoice color = ColorChoice::kAuto;
};

/// What a verb prints and returns. If `error` is set, the exit code is the error's.
struct Answer {
  std::string text;                     ///< for stdout
  std::vector<std::string> notes = {};  ///< for stderr; with --json they are in the document
  std::vector<std::string> warnings =
      {};  ///< for stderr, as objects with --json: warnings that are not in the document
  ckpt::Status error = {};
  int exit_code = 0;
};

/// Runs the typed verb, or help or version; prints the answer and returns the exit code.
int run_command(const Program& program, Command command);

}  // namespace titan::cli
