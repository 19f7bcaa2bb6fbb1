#pragma once
// Shell completion scripts for verbs, flags, keys and files, generated from the flag table. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/command_line.h"

namespace titan::cli {

enum class Shell { kBash, kZsh, kFish };
/// "bash", "zsh", "fish". \error kInvalid
ckpt::Result<Shell> parse_shell(std::string_view name);

/// The script for `program`.
std::string completion_script(const Program& program, Shell shell);

/// The verb that prints completion scripts.
Verb completion_verb(bool json = true);

/// The kind of value that a placeholder of the flag table asks for.
struct Wanted {
  std::vector<std::string> choices;  ///< "auto|never|PATH": its lower-case words
  bool file = false;                 ///< names a file, a folder or a checkpoint
};
Wanted wanted_by(std::string_view placeholder);

}  // namespace titan::cli
