#include "cli/kit/completion.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ckpt/base/text.h"
#include "cli/kit/completion_parts.h"
#include "cli/kit/json_out.h"
#include "cli/kit/verb.h"

namespace titan::cli {

namespace {

ckpt::Result<Answer> words_answer(const Request& request, const std::vector<std::string>& words) {
  if (!request.json) return Answer{.text = words.empty() ? "" : ckpt::joined(words, "\n") + "\n"};
  JsonOut json;
  json.begin_object();
  json.list("words", words);
  return Answer{.text = json.document()};
}

ckpt::Result<Answer> run_completion(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const Shell shell, parse_shell(request.command.positionals[0]));
  const Command& command = request.command;
  const CompletionSources& completion_sources = request.program.completion_sources;
  if (const auto run = command.value("steps"); run && completion_sources.steps != nullptr)
    return words_answer(request, completion_sources.steps(request.fs, *run));
  if (const auto checkpoint = command.value("tensors"); checkpoint && completion_sources.tensors != nullptr)
    return words_answer(request, completion_sources.tensors(request.fs, *checkpoint));
  const std::string script = completion_script(request.program, shell);
  if (!request.json) return Answer{.text = script};
  JsonOut json;
  json.begin_object();
  json.text("script", script);
  return Answer{.text = json.document()};
}

}  // namespace

ckpt::Result<Shell> parse_shell(std::string_view name) {
  if (name == "bash") return Shell::kBash;
  if (name == "zsh") return Shell::kZsh;
  if (name == "fish") return Shell::kFish;
  return ckpt::invalid("`" + std::string(name) + "` is no shell with completions, expected bash, zsh or fish");
}

Verb completion_verb(bool json) {
  return {"completion",
          {{"bash|zsh|fish"}},
          "print a completion script for a shell",
          {{"steps", "RUN", "print what may follow RUN@, one word per line, instead of a script; the scripts use this"},
           {"tensors", "CKPT", "print the tensor names of CKPT instead of a script"}},
          run_completion,
          json};
}

PlaceholderValues placeholder_values(std::string_view placeholder) {
  constexpr std::array kFiles = {"PATH",   "FILE",   "CKPT", "RUN", "SRC", "DST",
                                 "CONFIG", "FOLDER", "DIR",  "OUT", "A",   "B"};
  PlaceholderValues wanted;
  for (const std::string& part : ckpt::split(placeholder, '|')) {
    const std::string word = part.substr(0, part.find('.'));
    if (std::find(kFiles.begin(), kFiles.end(), word) != kFiles.end()) {
      wanted.file = true;
    } else if (!part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) {
                 return std::islower(c) || std::isdigit(c) || c == '-';
               })) {
      wanted.choices.push_back(part);
    }
  }
  return wanted;
}

std::string completion_script(const Program& program, Shell shell) {
  Program shown = program;
  shown.flags.insert(shown.flags.end(), flags_of_every_program().begin(), flags_of_every_program().end());
  const std::vector<std::string> keys = program.keys != nullptr ? program.keys() : std::vector<std::string>{};
  switch (shell) {
    case Shell::kBash: return bash_completion(shown, keys);
    case Shell::kZsh: return zsh_completion(shown, keys);
    case Shell::kFish: break;
  }
  return fish_completion(shown, keys);
}

bool takes_keys(const Verb& verb) {
  return std::ranges::any_of(verb.flags, [](const Flag& flag) { return flag.name == "set"; });
}

std::string function_name(const Program& program) {
  std::string name = "_" + program.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string head_comment(const Program& program, const std::string& shell) {
  return "# Completions of " + program.name + " for " + shell + "; made from its flag table by `" + program.name +
         " completion " + shell + "`.\n";
}

std::vector<std::string> sub_verbs(const Verb& verb) {
  std::vector<std::string> found;
  for (const Flag& flag : verb.flags)
    if (!flag.after.empty() && std::find(found.begin(), found.end(), flag.after) == found.end())
      found.push_back(flag.after);
  return found;
}

std::vector<Flag> flags_after(const Verb& verb, const std::string& sub_verb) {
  std::vector<Flag> flags = verb.flags;
  if (!sub_verb.empty())
    std::erase_if(flags, [&](const Flag& flag) { return !flag.after.empty() && flag.after != sub_verb; });
  return flags;
}

std::vector<std::string> spellings(const Flag& flag) {
  std::vector<std::string> words{"--" + flag.name};
  if (flag.letter != 0) words.push_back(std::string("-") + flag.letter);
  return words;
}

std::vector<std::string> flags_with_values(const Program& program) {
  std::vector<std::string> found;
  const auto collect = [&](const std::vector<Flag>& flags) {
    for (const Flag& flag : flags)
      if (!flag.value.empty())
        for (const std::string& word : spellings(flag)) found.push_back(word);
  };
  collect(program.flags);
  for (const Verb& verb : program.verbs) collect(verb.flags);
  return found;
}

}  // namespace titan::cli
