#include "ckpt/base/text.h"
#include "cli/kit/completion_parts.h"

namespace titan::cli {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

std::string values(const std::string& placeholder) {
  const Wanted wanted = wanted_by(placeholder);
  std::string text = wanted.file ? " -r -F" : " -x";
  if (!wanted.choices.empty()) text += " -a " + quoted(ckpt::joined(wanted.choices, " "));
  return text;
}

std::string flag_line(const std::string& start, const Flag& flag) {
  return start + (flag.letter != 0 ? std::string(" -s ") + flag.letter : "") + " -l " + flag.name +
         (flag.value.empty() ? "" : values(flag.value)) + " -d " + quoted(flag.help) + "\n";
}

}  // namespace

std::string fish_completion(const Program& program, const std::vector<std::string>& keys) {
  const std::string start = "complete -c " + program.name;
  std::string text = head_comment(program, "fish");
  for (const Flag& flag : program.flags) text += flag_line(start, flag);
  std::vector<std::string> with_keys;
  for (const Verb& verb : program.verbs) {
    text += start + " -n __fish_use_subcommand -f -a " + verb.name + " -d " + quoted(verb.help) + "\n";
    const std::string inside = start + " -n " + quoted("__fish_seen_subcommand_from " + verb.name);
    for (const Flag& flag : verb.flags) {
      const std::string half =
          start + " -n " +
          quoted("__fish_seen_subcommand_from " + verb.name + "; and __fish_seen_subcommand_from " + flag.after);
      text += flag_line(flag.after.empty() ? inside : half, flag);
    }
    for (const Argument& argument : verb.arguments)
      if (const Wanted wanted = wanted_by(argument.name); !wanted.choices.empty())
        text += inside + " -f -a " + quoted(ckpt::joined(wanted.choices, " ")) + "\n";
    if (takes_keys(verb)) with_keys.push_back(verb.name);
  }
  if (!with_keys.empty() && !keys.empty()) {
    text += start + " -n " + quoted("__fish_seen_subcommand_from " + ckpt::joined(with_keys, " ")) + " -a '";
    for (const std::string& key : keys) text += "--" + key + "=\n";
    text.back() = '\'';
    text += '\n';
  }
  return text;
}

}  // namespace titan::cli
