#pragma once
// The verbs of titan-ckpt: each turns what was typed into options, calls its operation, and picks a printer.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "cli/ui/command_line.h"
#include "cli/ui/reports.h"

namespace titan::cli {

struct Request {
  const ui::Command& command;
  ckpt::Fs& fs;
  bool json = false;
  ui::TextStyle style;
};

/// What the program prints and returns. With an `error` the exit code is the error's.
struct Answer {
  std::string text;                        ///< for stdout
  std::vector<std::string> notes;          ///< for stderr; with --json they are in the document
  std::vector<std::string> warnings = {};  ///< for stderr, with --json as objects: what no document holds
  ckpt::Status error;
  int exit_code = 0;
};

/// The value of --threads, 0 when it is not given. \error kInvalid
ckpt::Result<unsigned> thread_count(const Request& request);

/// Every verb and flag, also those that are not built yet.
ui::Program titan_ckpt_program();

Answer run_list(const Request& request);
Answer run_inspect(const Request& request);
Answer run_verify(const Request& request);
Answer run_diff(const Request& request);
Answer run_cat(const Request& request);
Answer run_lr(const Request& request);
Answer run_strip(const Request& request);
Answer run_reshard(const Request& request);
Answer run_prune(const Request& request);
Answer run_completion(const Request& request);
Answer run_convert(const Request& request);

}  // namespace titan::cli

/// Assigns the value of a Result to `lhs`, or returns its Status as the verb's answer.
#define TITAN_ASSIGN_OR_ANSWER(lhs, expr)                              \
  do {                                                                 \
    auto titan_result_ = (expr);                                       \
    if (!titan_result_.ok()) return {.error = titan_result_.status()}; \
    lhs = std::move(titan_result_).value();                            \
  } while (0)
