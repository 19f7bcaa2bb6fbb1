#pragma once
// Text in a command that a user copies from a message into a shell.
#include <string>

namespace titan::ckpt {

/// `text` as one word of a POSIX shell: in single quotes where it has characters that a shell would not leave alone.
std::string shell_word(const std::string& text);

}  // namespace titan::ckpt
