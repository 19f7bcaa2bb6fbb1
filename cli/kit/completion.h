#pragma once
// Shell completion scripts for verbs, flags, keys and files, generated from the flag table. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/command_line.h"

namespace titan::cli {

enum class Shell { kBash, kZsh, kFish };
/// The shell named "bash", "zsh" or "fish". \error kInvalid: another name
ckpt::Result<Shell> parse_shell(std::string_view name);

/// The script for `program`.
std::string completion_script(const Program& program, Shell shell);

/// The verb `completion SHELL`, which prints the script. `json`: the verb supports --json.
Verb completion_verb(bool json = true);

/// The values that a placeholder of the flag table stands for. "auto|never|PATH" has the choices "auto" and "never", or
/// is a file.
struct PlaceholderValues {
  std::vector<std::string> choices;  ///< the lower-case words of the placeholder
  bool file = false;                 ///< the value may be the path of a file, a folder or a checkpoint
};
PlaceholderValues placeholder_values(std::string_view placeholder);

}  // namespace titan::cli
