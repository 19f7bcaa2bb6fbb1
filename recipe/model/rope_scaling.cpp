#include "recipe/model/rope_scaling.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "ckpt/base/text.h"

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

}  // namespace

bool is_sound(const RopeScaling& scaling) {
  return scaling.factor >= 1 && scaling.low_freq_factor > 0 && scaling.high_freq_factor > scaling.low_freq_factor &&
         has_length(scaling);
}

std::optional<RopeScaling> read_rope_scaling(std::string_view text) {
  const std::vector<std::string> parts = ckpt::split(text, ':');
  if (parts.size() != 5 || parts[0] != "llama3") return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto number = ckpt::number_of<double>(parts[i]);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  constexpr double kMaxInteger = 9e18;
  if (numbers[3] != std::floor(numbers[3]) || std::fabs(numbers[3]) > kMaxInteger) return std::nullopt;
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
