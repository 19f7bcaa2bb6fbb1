#pragma once
// Completion scripts for each shell, used by completion.h.
#include "cli/kit/completion.h"
#include "cli/kit/text.h"

namespace titan::cli {

std::string bash_completion(const Program& program, const std::vector<std::string>& keys);
std::string zsh_completion(const Program& program, const std::vector<std::string>& keys);
std::string fish_completion(const Program& program, const std::vector<std::string>& keys);

/// "titan-ckpt" -> "_titan_ckpt".
std::string function_name(const Program& program);
/// The first comment of a script.
std::string head_comment(const Program& program, const std::string& shell);
/// The sub-verbs of `verb` ("set" of `lr set`) that have their own flags, in table order.
std::vector<std::string> halves(const Verb& verb);
/// The flags allowed after the sub-verb `half`; all flags if it is empty.
std::vector<Flag> flags_after(const Verb& verb, const std::string& half);
/// Whether the verb takes --set, and therefore also --section.key=value.
bool takes_keys(const Verb& verb);
/// {"--output", "-o"}.
std::vector<std::string> spellings(const Flag& flag);
/// The spellings of all flags that take a value.
std::vector<std::string> flags_with_values(const Program& program);

}  // namespace titan::cli
