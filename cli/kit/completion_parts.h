#pragma once
// The completion script of each shell, and what the three scripts share. Only for completion*.cpp.
#include "cli/kit/completion.h"
#include "cli/kit/text.h"

namespace titan::cli {

/// The script for one shell. `keys`: configuration keys ("section.key") that verbs with --set accept as flags.
std::string bash_completion(const Program& program, const std::vector<std::string>& keys);
std::string zsh_completion(const Program& program, const std::vector<std::string>& keys);
std::string fish_completion(const Program& program, const std::vector<std::string>& keys);

/// The name of the script's shell function: "_titan_ckpt" for "titan-ckpt".
std::string function_name(const Program& program);
/// The comment at the beginning of a script.
std::string head_comment(const Program& program, const std::string& shell);
/// The sub-verbs of `verb` that have their own flags ("set" for `lr`), in table order.
std::vector<std::string> sub_verbs(const Verb& verb);
/// The flags allowed after the sub-verb `sub_verb`; all flags of `verb` if `sub_verb` is empty.
std::vector<Flag> flags_after(const Verb& verb, const std::string& sub_verb);
/// Whether the verb takes --set, and therefore also --section.key=value.
bool takes_keys(const Verb& verb);
/// The ways to type a flag: {"--output", "-o"}.
std::vector<std::string> spellings(const Flag& flag);
/// The spellings of all flags that take a value.
std::vector<std::string> flags_with_values(const Program& program);

}  // namespace titan::cli
