#pragma once
// Values as JSON text: what metrics.jsonl is made of.
#include <string>

namespace titan::train {

/// Shortest text that reads back as the same double; "nan", "inf", "-inf" in quotes.
std::string json_number(double value);
/// Now, RFC 3339 UTC with milliseconds.
std::string utc_now();

}  // namespace titan::train
