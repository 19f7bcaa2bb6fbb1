#include "cli/kit/flag_values.h"

#include <limits>

#include "ckpt/base/text.h"

namespace titan::cli {

ckpt::Status wrong_value(const std::string& flag, const std::string& text, const std::string& expected) {
  return ckpt::invalid("`--" + flag + "` is `" + text + "`, expected " + expected);
}

ckpt::Result<ColorChoice> color_choice(const Command& command) {
  const std::string when = command.value("color").value_or("auto");
  if (when == "auto") return ColorChoice::kAuto;
  if (when == "always") return ColorChoice::kAlways;
  if (when == "never") return ColorChoice::kNever;
  return wrong_value("color", when, "auto, always or never");
}

ckpt::Result<std::size_t> top_count(const Command& command, std::size_t otherwise) {
  const std::optional<std::string> text = command.value("top");
  if (!text) return otherwise;
  if (*text == "all") return std::numeric_limits<std::size_t>::max();
  const std::optional<std::size_t> count = ckpt::number_of<std::size_t>(*text);
  if (!count || *count == 0) return wrong_value("top", *text, "a number of rows from 1 on, or all");
  return *count;
}

ckpt::Result<unsigned> thread_count(const Command& command) {
  const std::optional<std::string> text = command.value("threads");
  if (!text) return 0u;
  const std::optional<unsigned> count = ckpt::number_of<unsigned>(*text);
  if (!count || *count == 0 || *count > 1024) return wrong_value("threads", *text, "a whole number from 1 to 1024");
  return *count;
}

}  // namespace titan::cli
