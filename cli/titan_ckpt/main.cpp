// titan-ckpt: reads the command line, runs one verb, delivers its answer.
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "ckpt/base/helpers.h"
#include "ckpt/io/lock_wait.h"
#include "ckpt/io/run_folder.h"
#include "cli/titan_ckpt/heap.h"
#include "cli/titan_ckpt/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "cli/ui/stop.h"
#include "cli/ui/version.h"
#include "converters/import.h"

namespace titan::cli {

namespace {

struct Runner {
  const char* verb;
  Answer (*run)(const Request&);
};

constexpr Runner kRunners[] = {
    {"ls", run_list},         {"inspect", run_inspect},
    {"verify", run_verify},   {"diff", run_diff},
    {"cat", run_cat},         {"lr", run_lr},
    {"strip", run_strip},     {"reshard", run_reshard},
    {"prune", run_prune},     {"completion", run_completion},
    {"convert", run_convert},
};

ckpt::Status read_color(const ui::Command& command, ui::ColorChoice* choice) {
  *choice = ui::ColorChoice::kAuto;
  const std::optional<std::string> when = command.value("color");
  if (!when || *when == "auto") return ckpt::ok_status();
  if (*when != "always" && *when != "never")
    return ckpt::invalid("`--color` is `" + *when + "`, expected auto, always or never");
  *choice = *when == "always" ? ui::ColorChoice::kAlways : ui::ColorChoice::kNever;
  return ckpt::ok_status();
}

/// Where among the positionals of a command those are that name what is read, with or without those that can only be
/// runs: by the placeholders of the flag table.
std::vector<std::size_t> sources(const ui::Program& program, const ui::Command& command, bool with_runs) {
  constexpr std::string_view kSources[] = {"CKPT", "CKPT|RUN", "SRC", "A", "B"};
  std::vector<std::size_t> found;
  for (const ui::Verb& verb : program.verbs) {
    for (std::size_t i = 0;
         verb.name == command.verb && i < std::min(verb.positionals.size(), command.positionals.size()); ++i)
      if (std::ranges::find(kSources, verb.positionals[i]) != std::end(kSources) ||
          (with_runs && verb.positionals[i] == "RUN"))
        found.push_back(i);
  }
  return found;
}

/// RUN@latest becomes the folder that it stands for where newer steps are passed over, and `warnings` get why. What
/// cannot be resolved stays as it was typed: the verb says what is wrong with it.
void settle_latest(const ui::Program& program, ckpt::Fs& fs, ui::Command& command, std::vector<std::string>& warnings) {
  for (const std::size_t i : sources(program, command, false)) {
    std::string& typed = command.positionals[i];
    std::vector<std::string> skipped;
    if (!typed.ends_with("@latest")) continue;
    const ckpt::Result<std::string> path = ckpt::resolve_checkpoint(fs, typed, &skipped);
    if (!path.ok() || skipped.empty()) continue;
    for (const std::string& why : skipped) warnings.push_back(typed + " passes over " + why);
    typed = *path;
  }
}

/// Corruption met on the way asks for the full list, of the checkpoint that is damaged.
void add_verify_hint(const ui::Program& program, const ui::Command& command, ckpt::Fs& fs, ckpt::Status& error) {
  if (error.code != ckpt::Code::kCorrupt || !error.hint.empty()) return;
  std::vector<std::string> suspects;
  for (const std::size_t i : sources(program, command, true)) {
    const std::string& typed = command.positionals[i];
    const std::string named = convert::resolve_any(fs, typed);
    const ckpt::Result<std::string> folder = ckpt::resolve_checkpoint(fs, named);
    if (error.path.empty() || error.path == (folder.ok() ? *folder : named)) suspects.push_back(typed);
  }
  for (const std::string& typed : suspects)
    error.hint += (error.hint.empty() ? "`" : " or `") + ("titan-ckpt verify " + typed) + "`";
  if (!suspects.empty()) error.hint += " names every damaged place";
}

/// These verbs work on our format alone: who gives them another is told how to get there.
void refuse_foreign(const ui::Command& command, ckpt::Fs& fs, ckpt::Status& error) {
  const bool ours_only =
      command.verb == "reshard" || command.verb == "strip" || command.verb == "lr" || command.verb == "prune";
  const std::size_t at = command.verb == "lr" ? 1 : 0;
  if (!ours_only || error.code != ckpt::Code::kNotFound || command.positionals.size() <= at) return;
  const std::string& folder = command.positionals[at];
  const auto format = convert::detect_format(fs, folder);
  if (format.ok() && *format != nullptr)
    error = ckpt::unsupported(folder + " is a checkpoint in the form of " + (*format)->title() + ", which `" +
                              command.verb + "` does not take")
                .with_hint("`titan-ckpt convert " + folder + " DST` makes one of ours");
}

Answer answer(const ui::Program& program, ui::Command command, ui::ColorChoice color) {
  if (command.help) return {.text = ui::help_text(program, command.verb)};
  if (command.version) return {.text = ui::version_line(program.name) + "\n"};
  const bool json = command.has("json");
  const bool colored = !json && ui::color_of_process(STDOUT_FILENO, color);
  const Request request{command, ckpt::posix_fs(), json, {{colored}, command.has("bytes"), std::time(nullptr)}};
  std::vector<std::string> warnings;
  settle_latest(program, request.fs, command, warnings);
  for (const Runner& runner : kRunners) {
    if (command.verb != runner.verb) continue;
    Answer result = runner.run(request);
    add_verify_hint(program, command, request.fs, result.error);
    refuse_foreign(command, request.fs, result.error);
    result.warnings = std::move(warnings);
    return result;
  }
  return {.error = ckpt::unsupported("`" + command.verb + "` is not supported yet")};
}

int deliver(const Answer& answer, bool json, ui::ColorChoice color) {
  ckpt::Status status;
  if (ui::deliver(STDOUT_FILENO, answer.text, &status) == ui::Delivery::kReaderGone) return 0;
  if (!status.ok()) return ui::report_error(status, json, color);
  for (const std::string& warning : answer.warnings) ui::report_warning(warning, json, color);
  if (!json)
    for (const std::string& note : answer.notes) ui::report_note(note, color);
  if (!answer.error.ok()) return ui::report_error(answer.error, json, color);
  return answer.exit_code;
}

int main_of(const std::vector<std::string>& arguments) {
  ui::ignore_write_signals();
  const ui::Program program = titan_ckpt_program();
  // Known before parsing, so that errors about the command line itself have the form that was asked for.
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  const ckpt::Result<ui::Command> command = ui::parse_command_line(program, arguments);
  if (!command.ok()) return ui::report_error(command.status(), json, ui::ColorChoice::kAuto);
  ui::ColorChoice color = ui::ColorChoice::kAuto;
  if (const ckpt::Status status = read_color(*command, &color); !status.ok())
    return ui::report_error(status, json, color);
  ckpt::lock_wait().say = [json, color](const std::string& text) { ui::report_warning(text, json, color); };
  ckpt::lock_wait().stopped = [] { return ui::stop_on_signals().check(); };
  try {
    return deliver(answer(program, *command, color), json, color);
  } catch (const std::exception& error) {  // memory ran out; what was being made is gone by now
    return ui::report_error(ckpt::status_of(error), json, color);
  }
}

}  // namespace

}  // namespace titan::cli

int main(int argc, char** argv) {
  titan::cli::prepare_heap();
  return titan::cli::main_of({argv + std::min(argc, 1), argv + argc});
}
