#pragma once
// Values as JSON text, for metrics.jsonl.
#include <string>

namespace titan::train {

/// The shortest text that reads back as the same double; "nan", "inf" and "-inf" are quoted.
std::string json_number(double value);
/// The current time, in RFC 3339 UTC with milliseconds.
std::string utc_now();

}  // namespace titan::train
