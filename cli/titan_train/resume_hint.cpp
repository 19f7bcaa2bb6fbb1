#include "cli/titan_train/resume_hint.h"

#include "ckpt/base/fs_posix.h"
#include "cli/kit/errors.h"
#include "cli/titan_train/program.h"
#include "libtrain/job/start/resume_command.h"
#include "recipe/keys/loader.h"
#include "recipe/plan/run_config.h"

namespace titan::cli {
namespace {

/// Adds overrides for keys that would stop the next start at `step` or make it load an earlier step:
/// debug.stop_at_step and checkpoint.load_step in the configuration file.
void undo_file(std::vector<std::string>& words, std::uint64_t step) {
  const auto command = parse_titan_train(words);
  if (!command.ok() || command->positionals.empty()) return;
  const auto loaded = recipe::load_run_config(command->positionals[0], command->overrides);
  if (!loaded.ok()) return;
  const auto stop_at = loaded->config.debug.stop_at_step;
  if (stop_at && static_cast<std::uint64_t>(*stop_at) <= step) words.push_back("--debug.stop_at_step=none");
  if (loaded->config.checkpoint.load_step >= 0) words.push_back("--checkpoint.load_step=-1");
}

}  // namespace

void print_resume_command(int exit_code, const std::vector<std::string>& words, const recipe::Config& config,
                          Starter starter, ColorChoice color) {
  const auto step = train::step_to_go_on(ckpt::posix_fs(), config);
  const std::string over = step ? train::set_without_samples(ckpt::posix_fs(), config) : "";
  if (!over.empty()) return report_note(train::data_end_line(exit_code, *step, over), color);
  std::vector<std::string> next = train::words_to_go_on(words, config, step);
  if (step) undo_file(next, *step);
  const bool same = next == words, ours = starter == Starter::kTitanTrain;
  // The command line of another launcher is not known, so the line begins with "the same job with".
  const std::string line = ours ? train::shell_line(next) : same ? "" : "the same job with " + train::shell_line(next);
  report_command(train::go_on_line(exit_code, step, same, ours ? "command" : "job", line), color);
}

std::string extend_command(const std::vector<std::string>& words, const recipe::Config& config) {
  const std::int64_t steps = config.training.steps;
  const bool follows_steps = !config.lr_scheduler.total_steps;
  std::vector<std::string> set_anew{"training.steps"};
  if (follows_steps) set_anew.push_back("lr_scheduler.on_change");
  std::vector<std::string> next =
      train::words_without_keys(train::words_to_go_on(words, config, static_cast<std::uint64_t>(steps)), set_anew);
  next.push_back("--training.steps=" + std::to_string(2 * steps));
  if (follows_steps) next.insert(next.end(), {"--allow", "training.steps", "--lr_scheduler.on_change=rewarm"});
  return train::shell_line(next);
}

}  // namespace titan::cli
