#pragma once
// Quotes text for shell commands in messages, which users copy and paste, and for Prometheus text files. Pure.
// \source https://prometheus.io/docs/instrumenting/exposition_formats
#include <string>
#include <string_view>

namespace titan::ckpt {

/// `text` as one word of a POSIX shell: in single quotes if it has characters that a shell would interpret.
std::string shell_word(const std::string& text);

/// `value` as a label value of Prometheus: in quotation marks, with backslashes, quotation marks and newlines escaped.
std::string quoted_label(const std::string& value);
/// The label value whose opening quotation mark is the first character of `text`; empty if `text` begins otherwise.
std::string unquoted_label(std::string_view text);

}  // namespace titan::ckpt
