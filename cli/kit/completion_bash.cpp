#include "ckpt/base/text.h"
#include "cli/kit/completion_parts.h"

namespace titan::cli {

namespace {

/// One case per flag in `flags` that takes a value: the completions of the value.
std::string value_cases(const std::vector<Flag>& flags, const std::string& indent) {
  std::string text;
  for (const Flag& flag : flags) {
    if (flag.value.empty()) continue;
    const PlaceholderValues wanted = placeholder_values(flag.value);
    text += indent + ckpt::joined(spellings(flag), "|") + ") ";
    // Where nothing is offered `complete -o default` offers files, which is wrong for numbers.
    if (!wanted.choices.empty())
      text += "COMPREPLY=($(compgen -W '" + ckpt::joined(wanted.choices, " ") + "'" + (wanted.file ? " -f" : "") +
              " -- \"$cur\")); ";
    else if (!wanted.file)
      text += "compopt +o default +o bashdefault 2>/dev/null; ";
    text += "return ;;\n";
  }
  return text;
}

std::string flag_words(const std::vector<Flag>& flags) {
  std::vector<std::string> words;
  for (const Flag& flag : flags) words.push_back("--" + flag.name);
  return ckpt::joined(words, " ");
}

std::string verb_case(const Program& program, const Verb& verb, const std::vector<std::string>& keys) {
  std::string text = "    " + verb.name + ")\n";
  if (const std::string values = value_cases(verb.flags, "        "); !values.empty())
    text += "      case $prev in\n" + values + "      esac\n";
  const auto words = [&](const std::string& sub_verb) {
    const std::vector<Flag> flags = flags_after(verb, sub_verb);
    return "words='" + flag_words(flags) + (flags.empty() ? "" : " ") + flag_words(program.flags) + "'";
  };
  text += "      " + words("") + "\n";
  for (const std::string& sub_verb : sub_verbs(verb))
    text += "      [[ $first == " + sub_verb + " ]] && " + words(sub_verb) + "\n";
  if (takes_keys(verb) && !keys.empty()) text += "      keys=1\n";
  for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
    if (verb.arguments[i].names == Names::kTensor)
      text += "      ((position == " + std::to_string(i) +
              ")) && choices=$(\"$program\" completion bash --tensors \"${last/#\\~/$HOME}\" 2>/dev/null)\n";
    const PlaceholderValues wanted = placeholder_values(verb.arguments[i].name);
    if (!wanted.choices.empty())
      text +=
          "      ((position == " + std::to_string(i) + ")) && choices='" + ckpt::joined(wanted.choices, " ") + "'\n";
  }
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const Program& program, const std::vector<std::string>& keys) {
  const std::string function = function_name(program);
  std::vector<std::string> verbs;
  for (const Verb& verb : program.verbs) verbs.push_back(verb.name);

  std::string text = head_comment(program, "bash");
  if (!keys.empty()) {
    text += function + "_keys='";
    for (const std::string& key : keys) text += "--" + key + "=\n";
    text.back() = '\'';
    text += '\n';
  }
  text += function +
          "() {\n"
          // Where `@` breaks words, RUN@step comes as three of them.
          "  local -a typed=()\n"
          "  local word glue=\n"
          "  for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
          "    if [[ $glue || $word == @ ]] && ((${#typed[@]})); then typed[-1]+=$word; else typed+=(\"$word\"); fi\n"
          "    [[ $word == @ ]] && glue=1 || glue=\n"
          "  done\n"
          "  local count=$((${#typed[@]} - 1)) cur=${typed[-1]} prev= verb= words= choices= keys= first= last= i "
          "position=0\n"
          "  ((count)) && prev=${typed[count-1]}\n"
          "  local program=${typed[0]/#\\~/$HOME} run=${cur%@*}\n"
          "  COMPREPLY=()\n"
          "  if [[ $cur == [!-]*@* ]]; then\n"
          "    words=$(\"$program\" completion bash --steps \"${run/#\\~/$HOME}\" 2>/dev/null)\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"${cur##*@}\"))\n"
          // $2 is what is replaced: "@1" where `@` breaks words.
          "    COMPREPLY=(\"${COMPREPLY[@]/#/${2%@*}@}\")\n"
          "    ((${#COMPREPLY[@]})) && return\n"
          "  fi\n"
          "  for ((i = 1; i < count; ++i)); do\n"
          "    case ${typed[i]} in\n"
          "      " +
          ckpt::joined(flags_with_values(program), "|") +
          ") ((++i)) ;;\n"
          "      -*|=) ;;\n"
          "      *) if [[ -z $verb ]]; then verb=${typed[i]}; else ((position++)) || first=${typed[i]}; "
          "last=${typed[i]}; fi ;;\n"
          "    esac\n"
          "  done\n"
          "  case $prev in\n" +
          value_cases(program.flags, "    ") +
          "  esac\n"
          "  case $verb in\n"
          "    '') words='" +
          flag_words(program.flags) + "' choices='" + ckpt::joined(verbs, " ") + "' ;;\n";
  for (const Verb& verb : program.verbs) text += verb_case(program, verb, keys);
  text += "  esac\n";
  if (!keys.empty()) {
    text +=
        "  if [[ $keys && $cur == --*.* ]]; then\n"
        "    compopt -o nospace 2>/dev/null\n"
        "    COMPREPLY=($(compgen -W \"$" +
        function +
        "_keys\" -- \"$cur\"))\n"
        "  elif [[ $keys && $cur == -* ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$words $" +
        function +
        "_keys\" -- \"$cur\"))\n"
        "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
        "  elif [[ $cur == -* ]]; then\n";
  } else {
    text += "  if [[ $cur == -* ]]; then\n";
  }
  return text +
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  elif [[ $choices ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))\n"
         "  fi\n"
         "}\n"
         "complete -o bashdefault -o default -F " +
         function + " " + program.name + "\n";
}

}  // namespace titan::cli
