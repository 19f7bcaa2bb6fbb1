#include "cli/kit/verb.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/helpers.h"
#include "ckpt/run/run_resolve.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/output.h"
#include "cli/kit/version.h"

namespace titan::cli {

namespace {

/// Replaces RUN@best by the path of that step, and RUN@latest too if newer steps are skipped. `warnings` gets a line
/// for each skipped step with the reason. Other arguments stay as typed; the verb reports errors in them. \error as
/// Program::best
ckpt::Status settle_names(const Request& request, std::vector<std::string>& positionals,
                          std::vector<std::string>& warnings) {
  const std::vector<Argument>& arguments = request.verb.arguments;
  for (std::size_t i = 0; i < positionals.size() && !arguments.empty(); ++i) {
    if (arguments[std::min(i, arguments.size() - 1)].names != Names::kSource) continue;
    std::vector<std::string> skipped;
    const std::string typed = positionals[i];
    if (typed.ends_with("@best") && request.program.best != nullptr) {
      TITAN_ASSIGN_OR_RETURN(positionals[i], request.program.best(request.fs, typed, &skipped));
    } else if (typed.ends_with("@latest")) {
      const ckpt::Result<std::string> path = ckpt::resolve_checkpoint(request.fs, typed, &skipped);
      if (path.ok() && !skipped.empty()) positionals[i] = *path;
      if (!path.ok()) skipped.clear();
    }
    for (const std::string& why : skipped) warnings.push_back(typed + " skips " + why);
  }
  return ckpt::ok_status();
}

int deliver_answer(const Answer& answer, bool json, ColorChoice color) {
  ckpt::Status status;
  if (deliver(STDOUT_FILENO, answer.text, &status) == Delivery::kReaderGone && answer.error.ok()) return 0;
  if (!status.ok()) return report_error(status, json, color);
  for (const std::string& warning : answer.warnings) report_warning(warning, json, color);
  if (!json)
    for (const std::string& note : answer.notes) report_note(note, color);
  return answer.error.ok() ? answer.exit_code : report_error(answer.error, json, color);
}

/// The output of a flag that every program has.
std::string text_about(const Program& program, const Command& command, std::size_t columns) {
  if (command.help) return help_text(program, command.verb, columns);
  if (command.licenses) return program.notices;
  return version_line(program.name) + "\n" + version_details(program.libraries != nullptr ? program.libraries() : "");
}

Answer answer_of(const Request& request, Command& command) {
  std::vector<std::string> warnings;
  if (ckpt::Status status = settle_names(request, command.positionals, warnings); !status.ok())
    return {.error = std::move(status)};
  ckpt::Result<Answer> made = request.verb.run(request);
  Answer answer = made.ok() ? std::move(*made) : Answer{.error = made.status()};
  answer.warnings.insert(answer.warnings.begin(), warnings.begin(), warnings.end());
  if (request.program.explain != nullptr) request.program.explain(request, answer.error);
  return answer;
}

}  // namespace

int run_command(const Program& program, Command command) {
  const std::size_t columns = isatty(STDOUT_FILENO) == 1 ? terminal_width() : 0;
  if (command.help || command.version || command.licenses)
    return deliver_answer({.text = text_about(program, command, columns)}, false, ColorChoice::kAuto);
  const Verb& verb = *program.find(command.verb);
  const bool json = verb.json && command.has("json");
  const ckpt::Result<ColorChoice> color = color_choice(command);
  if (!color.ok()) return report_error(color.status(), json, ColorChoice::kAuto);
  const TextStyle style{
      {!json && color_of_process(STDOUT_FILENO, *color), json ? 0 : columns}, command.has("bytes"), std::time(nullptr)};
  try {
    return deliver_answer(answer_of({program, verb, command, ckpt::posix_fs(), json, style, *color}, command), json,
                          *color);
  } catch (const std::exception& error) {  // out of memory; partial results have been destroyed
    return report_error(ckpt::status_of(error), json, *color);
  }
}

}  // namespace titan::cli
