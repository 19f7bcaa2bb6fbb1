#include "libtrain/job/start/resume_command.h"

#include <algorithm>
#include <functional>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/read/reader.h"
#include "libtrain/job/start/own_steps.h"
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::train {
namespace {

/// The key in "--section.key", "section.key=value" and similar words.
std::string key_of(std::string word) {
  word = word.substr(0, word.find('='));
  word.erase(0, std::min(word.find_first_not_of('-'), word.size()));
  std::ranges::replace(word, '-', '_');
  return recipe::canonical_name(word);
}

/// `words` without those that set a key that `is_wrong`, and without a --resume that is for one start only.
std::vector<std::string> without(const std::vector<std::string>& words,
                                 const std::function<bool(const std::string& key)>& is_wrong) {
  const auto may_stay = [](const std::string& resume) { return resume == "auto" || resume == "required"; };
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool alone = word.find('=') == std::string::npos;
    bool wrong = false, with_next = false;
    if (word == "--resume" || word == "--set") {
      wrong = word == "--set" ? is_wrong(key_of(next)) : !may_stay(next);
      with_next = true;
    } else if (word.starts_with("--resume=")) {
      wrong = !may_stay(word.substr(9));
    } else if (word.starts_with("--set=")) {
      wrong = is_wrong(key_of(word.substr(6)));
    } else if (word.starts_with("--") && word.find('.') != std::string::npos) {
      wrong = is_wrong(key_of(word));
      with_next = wrong && alone;
    }
    if (!wrong) kept.push_back(word);
    if (!wrong && with_next && !next.empty()) kept.push_back(next);
    if (with_next) ++i;
  }
  return kept;
}

/// The step that the next start would resume from; nullopt if there is none.
std::optional<ckpt::StepEntry> newest_step(ckpt::Fs& fs, const recipe::Config& config) {
  StartRequest request;
  request.checkpoint_dir = ckpt::join_path(config.job.dump_folder, config.checkpoint.folder);
  request.near_root = config.checkpoint.near.value_or("");
  auto scan = ckpt::list_steps(fs, request.checkpoint_dir);
  if (!scan.ok()) return std::nullopt;
  const std::set<std::uint64_t> damaged;
  auto own = OwnSteps::open(fs, std::move(*scan), request, damaged);
  if (!own.ok()) return std::nullopt;
  const ckpt::ResumeChoice choice = own->newest();
  return choice.blocked.ok() && choice.entry != nullptr ? std::optional(*choice.entry) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> step_to_go_on(ckpt::Fs& fs, const recipe::Config& config) {
  const std::optional<ckpt::StepEntry> newest = newest_step(fs, config);
  return newest ? std::optional(newest->step) : std::nullopt;
}

std::string set_without_samples(ckpt::Fs& fs, const recipe::Config& config) {
  if (config.training.datasets.empty()) return "";
  const std::optional<ckpt::StepEntry> newest = newest_step(fs, config);
  if (!newest || !newest->manifest) return "";
  const ckpt::CheckpointReader reader = ckpt::CheckpointReader::known(fs, newest->path, *newest->manifest);
  const auto data = reader.data_position();
  const auto state = reader.train_state();
  if (!data.ok() || !state.ok() || data->sets.empty()) return "";
  const ckpt::Mixture mixture(*data);
  const auto batch = ckpt::number_of<std::uint64_t>(ckpt::setting(state->accepted, "training.global_batch_size"));
  if (!mixture.end() || !batch || *batch == 0) return "";
  const bool filled = ckpt::kept_sample(data->excluded, data->samples, *batch - 1) < *mixture.end();
  return filled ? "" : ckpt::set_names(data->sets)[mixture.last_set()];
}

std::vector<std::string> words_to_go_on(const std::vector<std::string>& words, const recipe::Config& config,
                                        std::optional<std::uint64_t> step) {
  if (!step) return words;
  const bool stop_reached =
      config.debug.stop_at_step && static_cast<std::uint64_t>(*config.debug.stop_at_step) <= *step;
  return without(words, [&](const std::string& key) {
    return key == "checkpoint.load_step" || (stop_reached && key == "debug.stop_at_step");
  });
}

std::vector<std::string> words_without_keys(const std::vector<std::string>& words,
                                            const std::vector<std::string>& keys) {
  const auto named = [&](const std::string& key) { return std::ranges::find(keys, key) != keys.end(); };
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool joined = words[i].starts_with("--allow=");
    if (!joined && (words[i] != "--allow" || i + 1 == words.size())) {
      kept.push_back(words[i]);
      continue;
    }
    std::vector<std::string> permitted = ckpt::split(joined ? words[i].substr(8) : words[++i], ',');
    std::erase_if(permitted, [&](const std::string& key) { return named(recipe::canonical_name(key)); });
    if (!permitted.empty()) kept.insert(kept.end(), {"--allow", ckpt::joined(permitted, ",")});
  }
  return without(kept, named);
}

std::string shell_line(const std::vector<std::string>& words) { return ckpt::joined(words, " ", ckpt::shell_word); }

namespace {

std::string begin_of_line(int exit_code, bool saved) {
  const std::string text = exit_code == 0 ? "" : "exit " + std::to_string(exit_code) + ": ";
  return exit_code == ckpt::kExitSaved && saved ? text + "saved; " : text;
}

}  // namespace

std::string data_end_line(int exit_code, std::uint64_t step, const std::string& set) {
  return begin_of_line(exit_code, true) + "the data end after step " + std::to_string(step) + ", '" + set +
         "' has given all of its epochs; to continue, set more epochs or other sets in training.datasets, with --allow "
         "training.datasets";
}

std::string go_on_line(int exit_code, std::optional<std::uint64_t> step, bool same, const std::string& what,
                       const std::string& line) {
  const std::string command = line.empty() ? "" : ": " + line;
  const std::string text = begin_of_line(exit_code, step.has_value());
  if (!step) return text + "no step is saved; the same " + what + " starts anew" + command;
  const std::string from = " from step " + std::to_string(*step);
  if (same) return text + "the same " + what + " continues" + from + command;
  return text + "continue" + from + command;
}

}  // namespace titan::train
