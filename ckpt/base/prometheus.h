#pragma once
// What files for Prometheus have in common. \source https://prometheus.io/docs/instrumenting/exposition_formats
#include <string>

namespace titan::ckpt {

/// `value` as that of a label, with its quotation marks: backslashes, quotation marks and ends of lines are escaped.
std::string quoted_label(const std::string& value);

}  // namespace titan::ckpt
