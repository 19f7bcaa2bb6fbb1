#include "ckpt/base/text.h"
#include "cli/kit/completion_parts.h"

namespace titan::cli {

namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

std::string values(const std::string& placeholder, const std::string& function) {
  const PlaceholderValues wanted = placeholder_values(placeholder);
  std::vector<std::string> words = wanted.choices;
  if (wanted.file) words.push_back("(" + function + "_steps)");
  return (wanted.file ? " -r -F" : " -x") + (words.empty() ? "" : " -a " + fish_quoted(ckpt::joined(words, " ")));
}

std::string flag_line(const std::string& start, const Flag& flag, const std::string& function) {
  return start + (flag.letter != 0 ? std::string(" -s ") + flag.letter : "") + " -l " + flag.name +
         (flag.value.empty() ? "" : values(flag.value, function)) + " -d " + fish_quoted(flag.help) + "\n";
}

/// Functions that ask the program for completions. For words without `@`, fish's file completion stays active.
std::string askers(const std::string& function, const std::vector<std::string>& takes_value) {
  return "function " + function +
         "_steps\n"
         "  set -l words (commandline -opc)\n"
         "  set -l run (commandline -ct | string replace -r -- '^--[^=]*=' '' | string match -r -- '^[^-].*(?=@)')\n"
         "  test -n \"$run\"; or return\n"
         "  set -l start (string replace -r '^~' $HOME -- $run)\n"
         "  $words[1] completion fish --steps $start 2>/dev/null | string replace -r '^' -- $run@\n"
         "end\n"
         "function " +
         function +
         "_tensors\n"
         "  set -l words (commandline -opc)\n"
         "  set -l given\n"
         "  set -l skip\n"
         "  for word in $words[2..]\n"
         "    if set -q skip[1]\n"
         "      set skip\n"
         "      continue\n"
         "    end\n"
         "    switch $word\n"
         "      case " +
         ckpt::joined(takes_value, " ") +
         "\n"
         "        set skip 1\n"
         "      case '-*'\n"
         "      case '*'\n"
         "        set -a given $word\n"
         "    end\n"
         "  end\n"
         "  test (count $given) = 2; and $words[1] completion fish --tensors (string replace -r '^~' $HOME -- "
         "$given[2]) 2>/dev/null\n"
         "end\n";
}

}  // namespace

std::string fish_completion(const Program& program, const std::vector<std::string>& keys) {
  const std::string start = "complete -c " + program.name, function = "_" + function_name(program);
  std::string text = head_comment(program, "fish") + askers(function, flags_with_values(program));
  for (const Flag& flag : program.flags) text += flag_line(start, flag, function);
  text += start + " -n 'not __fish_use_subcommand' -a '(" + function + "_steps)'\n";
  std::vector<std::string> with_keys;
  for (const Verb& verb : program.verbs) {
    text += start + " -n __fish_use_subcommand -f -a " + verb.name + " -d " + fish_quoted(verb.help) + "\n";
    const std::string inside = start + " -n " + fish_quoted("__fish_seen_subcommand_from " + verb.name);
    for (const Flag& flag : verb.flags) {
      const std::string sub_verb =
          start + " -n " +
          fish_quoted("__fish_seen_subcommand_from " + verb.name + "; and __fish_seen_subcommand_from " + flag.after);
      text += flag_line(flag.after.empty() ? inside : sub_verb, flag, function);
    }
    for (const Argument& argument : verb.arguments) {
      if (argument.names == Names::kTensor) text += inside + " -a '(" + function + "_tensors)'\n";
      if (const PlaceholderValues wanted = placeholder_values(argument.name); !wanted.choices.empty())
        text += inside + " -f -a " + fish_quoted(ckpt::joined(wanted.choices, " ")) + "\n";
    }
    if (takes_keys(verb)) with_keys.push_back(verb.name);
  }
  if (!with_keys.empty() && !keys.empty()) {
    text += start + " -n " + fish_quoted("__fish_seen_subcommand_from " + ckpt::joined(with_keys, " ")) + " -a '";
    for (const std::string& key : keys) text += "--" + key + "=\n";
    text.back() = '\'';
    text += '\n';
  }
  return text;
}

}  // namespace titan::cli
