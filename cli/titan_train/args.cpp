#include "cli/titan_train/args.h"

#include <algorithm>

#include "cli/ui/completion.h"
#include "recipe/keys/key_table.h"

namespace titan::train_cli {

using ckpt::Result;

namespace {

// "section.key" of a boolean, or "section.no_key": a flag without a value.
bool is_switch(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  const auto boolean = [](const std::string& candidate) {
    const recipe::Key* key = recipe::find_key(recipe::canonical_name(candidate));
    return key != nullptr && recipe::is_bool(*key);
  };
  const std::size_t dot = name.rfind('.');
  return boolean(name) ||
         (name.compare(dot + 1, 3, "no_") == 0 && boolean(name.substr(0, dot + 1) + name.substr(dot + 4)));
}

bool names_the_file(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name == "job.config_file";
}

}  // namespace

const ui::Program& program() {
  using ui::Built;
  using ui::Repeat;
  static const std::vector<ui::Flag> run_flags = {
      {"nproc", "N", "local ranks to start (default: 1, or what torchrun set)"},
      {"resume", "auto|required|never|PATH",
       "auto: the newest valid step of the run folder, else a fresh start (default); required: never a fresh start"},
      {"init-from", "PATH",
       "start a new run from the weights of a checkpoint, while the run folder has no step of its own"},
      {"init-map", "FILE", "rename and skip rules for --init-from"},
      {"allow", "KEY[,KEY...]", "permit these keys to differ from the checkpoint at this start", 0, Built::kYes,
       Repeat::kMany},
      {"set", "SECTION.KEY=VALUE", "override a key; the short form is --section.key=value", 0, Built::kYes,
       Repeat::kMany},
  };
  static const std::vector<ui::Flag> config_flags = [] {
    std::vector<ui::Flag> flags = run_flags;
    flags.push_back({"classes", "", "print the class of every key: what a changed value means for a resume"});
    return flags;
  }();
  static const std::vector<ui::Flag> eval_flags = {
      {"tokens", "FILE", "integers [B,T] as .npy, or raw ids cut into rows by --seq-len"},
      {"seq-len", "T", "tokens of a row"},
      {"token-dtype", "uint16|uint32", "of raw ids, little-endian (default: uint16 where the vocabulary fits)"},
      {"logits", "OUT.npy", "also write the logits, float32 [B,T,vocabulary]"},
  };
  static const ui::Program table = {
      "titan-train",
      "trains Llama-style models on data x pipeline parallel ranks, with checkpoints that any layout resumes bit for "
      "bit",
      {
          {"run", {"CONFIG"}, "train, and resume where the run stopped", run_flags, Built::kYes},
          {"config",
           {"CONFIG"},
           "print the resolved configuration with the origin of every value",
           config_flags,
           Built::kYes},
          {"plan",
           {"CONFIG"},
           "say what a run would do, without ranks or tensors, writing nothing",
           run_flags,
           Built::kYes},
          {"eval",
           {"CKPT"},
           "loss of a checkpoint (a folder, RUN@step or RUN@latest) on a token file",
           eval_flags,
           Built::kYes},
          ui::completion_verb(),
      },
      {{"json", "", "machine-readable output (config, plan, eval)"},
       {"color", "auto|always|never", "colour of the output (default: auto)"}}};
  return table;
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  // Dotted overrides are taken out first: the parser would take the value of `--section.key value` for an argument.
  Arguments arguments;
  std::vector<std::string> rest, files;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    if (word.rfind("--", 0) != 0 || word.substr(0, equals).find('.') == std::string::npos) {
      rest.push_back(word);
      continue;
    }
    // torchtitan's way to name the configuration.
    if (names_the_file(word.substr(2, equals == std::string::npos ? equals : equals - 2))) {
      if (equals == std::string::npos && i + 1 == words.size())
        return ckpt::invalid("--job.config_file needs a value").with_hint("write `--job.config_file FILE`");
      files.push_back(equals == std::string::npos ? words[++i] : word.substr(equals + 1));
      continue;
    }
    arguments.overrides.push_back(word);
    if (equals == std::string::npos && i + 1 < words.size() && !is_switch(word.substr(2)))
      arguments.overrides.push_back(words[++i]);
  }
  rest.insert(rest.end(), files.begin(), files.end());
  auto command = ui::parse_command_line(program(), rest);
  if (!command.ok() && !files.empty() && command.status().message.starts_with("unexpected argument"))
    return ckpt::invalid("more than one configuration file")
        .with_hint("name it once: as CONFIG or with --job.config_file");
  TITAN_ASSIGN_OR_RETURN(arguments.command, std::move(command));
  for (const std::string& item :
       arguments.command.values.count("set") ? arguments.command.values.at("set") : std::vector<std::string>{}) {
    arguments.overrides.push_back("--set=" + item);
  }
  // Flags that are short for keys.
  if (const auto path = arguments.command.value("init-from"))
    arguments.overrides.push_back("--checkpoint.initial_load_path=" + *path);
  if (const auto file = arguments.command.value("init-map"))
    arguments.overrides.push_back("--checkpoint.initial_load_map=" + *file);
  return arguments;
}

std::vector<std::string> allow_words(const ui::Command& command) {
  const auto found = command.values.find("allow");
  return found == command.values.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace titan::train_cli
