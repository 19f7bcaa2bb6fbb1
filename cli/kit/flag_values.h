#pragma once
// Parses the values of flags that several verbs share.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/text.h"
#include "cli/kit/command_line.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// An error of kind kInvalid with the message "`--flag` is `text`, expected ...".
ckpt::Status wrong_value(const std::string& flag, const std::string& text, const std::string& expected);

/// If the flag is given, parses its text with `read` and stores the result in `value`. \error kInvalid: `read` returned
/// nullopt; the message says what was `expected`
template <typename Read, typename Value>
ckpt::Status read_flag(const Command& command, const std::string& flag, const std::string& expected, const Read& read,
                       Value& value) {
  const std::optional<std::string> text = command.value(flag);
  if (!text) return ckpt::ok_status();
  const auto given = read(*text);
  if (!given) return wrong_value(flag, *text, expected);
  value = *given;
  return ckpt::ok_status();
}

/// For read_flag: a number for which `fits` is true.
template <typename Number, typename Fits>
auto number_that(Fits fits) {
  return [fits](const std::string& text) {
    const std::optional<Number> number = ckpt::number_of<Number>(text);
    return number && fits(*number) ? number : std::nullopt;
  };
}

/// For read_flag: a finite number from `least` to `most`.
template <typename Number>
auto number_from(Number least, Number most = std::numeric_limits<Number>::max()) {
  return number_that<Number>([=](Number number) { return number >= least && number <= most; });
}

/// For read_flag: one of these words, which is read as the value that is paired with it.
template <typename Value>
auto word_of(std::vector<std::pair<std::string_view, Value>> words) {
  return [words = std::move(words)](const std::string& text) {
    const auto found = std::ranges::find(words, text, &std::pair<std::string_view, Value>::first);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  };
}

/// The value of --color. \error kInvalid
ckpt::Result<ColorChoice> color_choice(const Command& command);
/// The value of --top, a number or "all"; `otherwise` if it is not given. \error kInvalid
ckpt::Result<std::size_t> top_count(const Command& command, std::size_t otherwise);
/// The value of --threads; 0 if it is not given: the verb then chooses the number. \error kInvalid
ckpt::Result<unsigned> thread_count(const Command& command);

}  // namespace titan::cli
