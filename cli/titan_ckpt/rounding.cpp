#include "cli/titan_ckpt/rounding.h"

#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {

std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor) {
  std::string text = format_count(error.rounded) + (error.rounded == 1 ? " element" : " elements") + " changed";
  if (!tensor.empty())
    text += "; largest absolute error " + format_rounded(error.largest, 6) + " in " + escape(tensor) + " at element " +
            format_count(error.at);
  if (error.overflowed > 0) text += "; " + format_count(error.overflowed) + " became infinite";
  return text;
}

void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor) {
  json.members("changed", error.rounded, "overflowed", error.overflowed, "largest_error", error.largest);
  json.members("tensor", tensor, "element", error.at);
}

}  // namespace titan::cli
