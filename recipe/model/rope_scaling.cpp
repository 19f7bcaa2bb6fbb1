#include "recipe/model/rope_scaling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace titan::recipe {
namespace {

constexpr double kMaxLength = 1e12;

bool has_length(const RopeScaling& scaling) {
  return scaling.original_max_position_embeddings >= 1 &&
         static_cast<double>(scaling.original_max_position_embeddings) <= kMaxLength;
}

/// Shortest digits, without the ".0" that makes a TOML float of a whole number.
std::string digits(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

/// A whole text as a finite number; nothing when it is none.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

bool is_sound(const RopeScaling& scaling) {
  return scaling.factor >= 1 && scaling.low_freq_factor > 0 && scaling.high_freq_factor > scaling.low_freq_factor &&
         has_length(scaling);
}

std::optional<RopeScaling> read_rope_scaling(std::string_view text) {
  constexpr std::string_view kKind = "llama3";
  if (!text.starts_with(kKind)) return std::nullopt;
  text.remove_prefix(kKind.size());
  std::vector<double> numbers;
  while (text.starts_with(':')) {
    const std::size_t end = std::min(text.find(':', 1), text.size());
    const std::optional<double> number = parse_number(text.substr(1, end - 1));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    text.remove_prefix(end);
  }
  constexpr double kMaxInteger = 9e18;
  if (!text.empty() || numbers.size() != 4 || numbers[3] != std::floor(numbers[3]) ||
      std::fabs(numbers[3]) > kMaxInteger)
    return std::nullopt;
  return RopeScaling{numbers[0], numbers[1], numbers[2], static_cast<std::int64_t>(numbers[3])};
}

ckpt::Result<RopeScaling> parse_rope_scaling(const std::string& text) {
  const std::string kind = text.substr(0, text.find(':'));
  for (const char* later : {"linear", "dynamic", "yarn", "longrope"}) {
    if (kind == later)
      return ckpt::unsupported("model.rope_scaling '" + text + "': '" + kind +
                               "' is not supported yet; only llama3 is");
  }
  const std::optional<RopeScaling> scaling = read_rope_scaling(text);
  if (!scaling || !has_length(*scaling))
    return ckpt::invalid("model.rope_scaling '" + text +
                         "': expected llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS")
        .with_hint("Llama 3.1 has \"llama3:8:1:4:8192\", Llama 3.2 \"llama3:32:1:4:8192\"");
  if (!is_sound(*scaling))
    return ckpt::invalid("model.rope_scaling '" + text +
                         "': the factor is at least 1, and 0 < low < high frequency factor");
  return *scaling;
}

std::string rope_scaling_text(const RopeScaling& scaling) {
  return "llama3:" + digits(scaling.factor) + ":" + digits(scaling.low_freq_factor) + ":" +
         digits(scaling.high_freq_factor) + ":" + std::to_string(scaling.original_max_position_embeddings);
}

}  // namespace titan::recipe
