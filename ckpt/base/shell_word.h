#pragma once
// Quoting for shell commands in messages, which users copy and paste.
#include <string>

namespace titan::ckpt {

/// `text` as one word of a POSIX shell: in single quotes if it has characters that a shell would interpret.
std::string shell_word(const std::string& text);

}  // namespace titan::ckpt
