#include "cli/titan_train/args.h"

#include "libtrain/config/key_table.h"

namespace titan::train_cli {

using ckpt::Result;

const ui::Program& program() {
  using ui::Built;
  using ui::Repeat;
  static const std::vector<ui::Flag> run_flags = {
      {"nproc", "N", "local ranks to start (default: 1, or what torchrun set)"},
      {"resume", "auto|never|PATH", "auto: the newest valid step of the run folder, else a fresh start (default)"},
      {"init-from", "PATH", "start a new run from the weights of a checkpoint", 0, Built::kNotYet},
      {"allow", "KEY[,KEY...]", "permit these keys to differ from the checkpoint", 0, Built::kNotYet, Repeat::kMany},
      {"set", "SECTION.KEY=VALUE", "override a key; the short form is --section.key=value", 0, Built::kYes, Repeat::kMany},
  };
  static const ui::Program table = {
      "titan-train",
      "trains Llama-style models on data x pipeline parallel ranks, with checkpoints that any layout resumes bit for bit",
      {
          {"run", {"CONFIG"}, "train, and resume where the run stopped", run_flags, Built::kYes},
          {"config", {"CONFIG"}, "print the resolved configuration with the origin of every value", run_flags, Built::kYes},
          {"plan", {"CONFIG"}, "say what a run would do", run_flags, Built::kNotYet},
          {"eval", {"CKPT"}, "loss of a checkpoint on a token file", {}, Built::kNotYet},
      },
      {{"json", "", "machine-readable output (config)"}, {"color", "auto|always|never", "colour of the output (default: auto)"}}};
  return table;
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  // Dotted overrides are taken out first: the parser would take the value of `--section.key value` for an argument.
  Arguments arguments;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    if (word.rfind("--", 0) != 0 || word.substr(0, equals).find('.') == std::string::npos) {
      rest.push_back(word);
      continue;
    }
    std::string item = word.substr(2);
    if (equals == std::string::npos && i + 1 < words.size() && !train::is_switch_key(item)) item += "=" + words[++i];
    arguments.overrides.push_back(std::move(item));
  }
  TITAN_ASSIGN_OR_RETURN(arguments.command, ui::parse_command_line(program(), rest));
  for (const std::string& item : arguments.command.values.count("set") ? arguments.command.values.at("set") : std::vector<std::string>{}) {
    if (item.find('=') == std::string::npos) return ckpt::invalid("--set " + item + ": expected SECTION.KEY=VALUE");
    arguments.overrides.push_back(item);
  }
  return arguments;
}

}  // namespace titan::train_cli
