#pragma once
// What files for Prometheus have in common. \source https://prometheus.io/docs/instrumenting/exposition_formats
#include <string>
#include <string_view>

namespace titan::ckpt {

/// `value` as that of a label, with its quotation marks: backslashes, quotation marks and ends of lines are escaped.
std::string quoted_label(const std::string& value);
/// The value at the begin of `text`, which begins with its quotation mark; empty where none stands there.
std::string unquoted_label(std::string_view text);

}  // namespace titan::ckpt
