#pragma once
// Parses the values of flags that several verbs share.
#include <string>

#include "cli/kit/command_line.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// An error of kind kInvalid with the message "`--flag` is `text`, expected ...".
ckpt::Status wrong_value(const std::string& flag, const std::string& text, const std::string& expected);

/// The value of --color; kAuto if it is not given. \error kInvalid
ckpt::Result<ColorChoice> color_choice(const Command& command);
/// The value of --top, a number or "all"; `otherwise` if it is not given. \error kInvalid
ckpt::Result<std::size_t> top_count(const Command& command, std::size_t otherwise);
/// The value of --threads; 0 (one per core) if it is not given. \error kInvalid
ckpt::Result<unsigned> thread_count(const Command& command);

}  // namespace titan::cli
