#include "recipe/keys/interval.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "ckpt/base/toml_text.h"
#include "recipe/keys/suggest.h"

namespace titan::recipe {
namespace {

constexpr const char* kContinuous = "continuous";
constexpr const char* kAuto = "auto";
constexpr std::int64_t kMost = 1'000'000'000;

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 4> kUnits{{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

/// Splits text into a whole number of at least 1 and the rest.
std::optional<std::pair<std::int64_t, std::string>> split_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMost) return std::nullopt;
  return std::pair(number, std::string(end, text.data() + text.size()));
}

}  // namespace

std::string SaveInterval::described() const {
  switch (kind) {
    case Kind::kSteps: return steps == 1 ? "every step" : "every " + std::to_string(steps) + " steps";
    case Kind::kTime: return "every " + text;
    case Kind::kContinuous: return "as soon as the last save is durable";
    case Kind::kAuto: return "as often as pays, by the measured cost of a save";
  }
  return "";
}

std::optional<SaveInterval> parse_save_interval(const std::string& text) {
  SaveInterval interval;
  interval.text = text;
  if (text == kContinuous || text == kAuto) {
    interval.kind = text == kAuto ? SaveInterval::Kind::kAuto : SaveInterval::Kind::kContinuous;
    return interval;
  }
  const auto split = split_number(text);
  if (!split) return std::nullopt;
  const auto* const unit = std::ranges::find(kUnits, split->second, &Unit::name);
  if (unit == kUnits.end()) return std::nullopt;
  interval.kind = SaveInterval::Kind::kTime;
  interval.seconds = static_cast<double>(split->first) * unit->seconds;
  return interval;
}

std::string meant_save_interval(const std::string& text) {
  std::string bare;
  for (const char c : text)
    if (c != ' ') bare += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const auto split = split_number(bare)) {
    const std::string number = std::to_string(split->first);
    if (split->second.empty() || split->second.starts_with("step")) return number;
    // Understands "10 minutes", "10m" and "2 hours".
    for (const Unit& unit : kUnits)
      if (split->second[0] == unit.name[0]) return ckpt::toml_string(number + std::string(unit.name));
    return "";
  }
  const std::string word = nearest_name(bare, {kContinuous, kAuto});
  return word.empty() ? "" : ckpt::toml_string(word);
}

}  // namespace titan::recipe
