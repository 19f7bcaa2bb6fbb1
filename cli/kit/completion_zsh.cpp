#include "ckpt/base/text.h"
#include "cli/kit/completion_parts.h"

namespace titan::cli {

namespace {

/// Inside single quotes, in a text of `_arguments` or `_describe`.
std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

/// ":PLACEHOLDER:ACTION" for zsh's `_arguments`.
std::string action(const std::string& placeholder, const std::string& function) {
  const PlaceholderValues wanted = placeholder_values(placeholder);
  std::string text = ":" + zsh_quoted(placeholder) + ":";
  // After a blank, zsh adds no completions of its own.
  if (wanted.file)
    text += " " + function + "_files" + (wanted.choices.empty() ? "" : " " + ckpt::joined(wanted.choices, " "));
  else if (!wanted.choices.empty())
    text += "(" + ckpt::joined(wanted.choices, " ") + ")";
  return text;
}

std::string flag_spec(const Flag& flag, const std::string& function) {
  const bool value = !flag.value.empty();
  const std::string rest = "'[" + zsh_quoted(flag.help) + "]" + (value ? action(flag.value, function) : "") + "'";
  if (flag.letter == 0)
    return std::string(flag.repeat == Repeat::kMany ? "'*'" : "") + "--" + flag.name + (value ? "=" : "") + rest;
  const std::string letter(1, flag.letter);
  return "'(-" + letter + " --" + flag.name + ")'{-" + letter + (value ? "+" : "") + ",--" + flag.name +
         (value ? "=" : "") + "}" + rest;
}

std::string arguments(const Verb& verb, const std::string& sub_verb, bool keys, const std::string& function) {
  std::string text = "_arguments $shared";
  for (const Flag& flag : flags_after(verb, sub_verb)) text += " \\\n          " + flag_spec(flag, function);
  if (keys && takes_keys(verb)) text += " \\\n          $keys";
  for (const Argument& argument : verb.arguments)
    if (argument.required)
      text += " \\\n          '" + std::string(argument.many ? "*" : "") +
              (argument.names == Names::kTensor ? ":" + zsh_quoted(argument.name) + ":" + function + "_tensors"
                                                : action(argument.name, function)) +
              "'";
  return text + " ;;\n";
}

}  // namespace

std::string zsh_completion(const Program& program, const std::vector<std::string>& keys) {
  const std::string function = function_name(program);
  std::string text = "#compdef " + program.name + "\n" + head_comment(program, "zsh");
  // Completes the words that are not files, the steps after RUN@, else files.
  text += function +
          "_files() {\n"
          "  if compset -P '*@'; then\n"
          "    local run=${${(Q)IPREFIX%@}/#\\~/$HOME}\n"
          "    compadd -- ${(f)\"$($program completion zsh --steps $run 2>/dev/null)\"}\n"
          "  else\n"
          "    (( $# )) && compadd -- $@\n"
          "    _files\n"
          "  fi\n"
          "}\n" +
          function +
          "_tensors() {\n"
          "  compadd -- ${(f)\"$($program completion zsh --tensors ${${(Q)line[1]}/#\\~/$HOME} 2>/dev/null)\"}\n"
          "}\n";
  text +=
      function + "() {\n  local -a verbs shared keys line\n  local state program=${words[1]/#\\~/$HOME}\n  shared=(\n";
  for (const Flag& flag : program.flags) text += "    " + flag_spec(flag, function) + "\n";
  text += "  )\n  verbs=(\n";
  for (const Verb& verb : program.verbs) text += "    '" + verb.name + ":" + zsh_quoted(verb.help) + "'\n";
  text += "  )\n";
  if (!keys.empty()) {
    text += "  keys=(\n";
    for (const std::string& key : keys) text += "    '*--" + key + "=::value:'\n";
    text += "  )\n";
  }
  // Up to the verb by one call, after it by the verb's own, for which the verb is word 1.
  text +=
      "  _arguments -C $shared ': :->verb' '*:: :->rest' && return\n"
      "  case $state in\n"
      "    verb) _describe 'verb' verbs ;;\n"
      "    rest)\n"
      "      case \"$words[1] $words[2]\" in\n";
  for (const Verb& verb : program.verbs) {
    // The two words are one pattern, so that each half of a verb has its own flags.
    for (const std::string& sub_verb : sub_verbs(verb))
      text += "        " + verb.name + "\\ " + sub_verb + ") " + arguments(verb, sub_verb, !keys.empty(), function);
    text += "        " + verb.name + "\\ *) " + arguments(verb, "", !keys.empty(), function);
  }
  return text + "      esac ;;\n  esac\n}\n" + function + " \"$@\"\n";
}

}  // namespace titan::cli
