#include "cli/kit/flag_values.h"

namespace titan::cli {

ckpt::Status wrong_value(const std::string& flag, const std::string& text, const std::string& expected) {
  return ckpt::invalid("`--" + flag + "` is `" + text + "`, expected " + expected);
}

ckpt::Result<ColorChoice> color_choice(const Command& command) {
  using enum ColorChoice;
  ColorChoice choice = kAuto;
  TITAN_RETURN_IF_ERROR(read_flag(command, "color", "auto, always or never",
                                  word_of<ColorChoice>({{"auto", kAuto}, {"always", kAlways}, {"never", kNever}}),
                                  choice));
  return choice;
}

ckpt::Result<std::size_t> top_count(const Command& command, std::size_t otherwise) {
  if (command.value("top") == "all") return std::numeric_limits<std::size_t>::max();
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "top", "a number of rows from 1 on, or all", number_from<std::size_t>(1), otherwise));
  return otherwise;
}

ckpt::Result<unsigned> thread_count(const Command& command) {
  unsigned count = 0;
  TITAN_RETURN_IF_ERROR(read_flag(command, "threads", "a whole number from 1 to 1024", number_from(1u, 1024u), count));
  return count;
}

}  // namespace titan::cli
