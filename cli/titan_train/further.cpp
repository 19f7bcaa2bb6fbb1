#include "cli/titan_train/further.h"

#include "libtrain/job/start/go_on.h"

namespace titan::cli {

std::string line_to_go_further(const std::vector<std::string>& words, const recipe::Config& config) {
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
