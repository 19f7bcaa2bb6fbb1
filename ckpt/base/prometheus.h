#pragma once
// Label values in Prometheus text files. \source https://prometheus.io/docs/instrumenting/exposition_formats
#include <string>
#include <string_view>

namespace titan::ckpt {

/// `value` as a label value: in quotation marks, with backslashes, quotation marks and newlines escaped.
std::string quoted_label(const std::string& value);
/// The label value whose opening quotation mark is the first character of `text`; empty if `text` begins otherwise.
std::string unquoted_label(std::string_view text);

}  // namespace titan::ckpt
