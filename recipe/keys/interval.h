#pragma once
// When a run saves: every so many steps, every so much time, as often as it can, or as often as pays.
#include <cstdint>
#include <optional>
#include <string>

namespace titan::recipe {

struct SaveInterval {
  enum class Kind {
    kSteps,       ///< every `steps` steps
    kTime,        ///< at the first step that ends `seconds` after the last save began
    kContinuous,  ///< the next save begins when the last one is durable
    kAuto,        ///< at the interval that loses least time (recipe/advice/save_interval.h)
  };
  Kind kind = Kind::kSteps;
  std::int64_t steps = 500;
  double seconds = 0;
  std::string text;  ///< of all kinds but kSteps: as it was written
  bool operator==(const SaveInterval&) const = default;
  /// 0: the run finds out.
  std::uint64_t known_steps() const { return kind == Kind::kSteps ? static_cast<std::uint64_t>(steps) : 0; }
  /// "every 500 steps", "every 10min"; what a person reads.
  std::string described() const;
};

/// Reads "continuous", "auto", and a whole number with s, min, h or d ("10min"); nothing where `text` is none of these.
std::optional<SaveInterval> parse_save_interval(const std::string& text);
/// What was meant by a text that is none of these, as TOML; "" where that is not clear.
std::string meant_save_interval(const std::string& text);

}  // namespace titan::recipe
