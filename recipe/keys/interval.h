#pragma once
// When a run saves: every n steps, after some time, continuously, or at the interval that minimises lost time.
#include <cstdint>
#include <optional>
#include <string>

namespace titan::recipe {

/// The value of checkpoint.interval.
struct SaveInterval {
  enum class Kind {
    kSteps,       ///< every `steps` steps
    kTime,        ///< at the end of the first step that is `seconds` or more after the last save began
    kContinuous,  ///< the next save begins as soon as the last one is durable
    kAuto,        ///< at the interval that minimises lost time (recipe/history/save_interval.h)
  };
  Kind kind = Kind::kSteps;
  std::int64_t steps = 500;
  double seconds = 0;
  std::string text;  ///< the text as written, for all kinds except kSteps
  bool operator==(const SaveInterval&) const = default;
  /// The interval in steps; 0 if it is only known during the run.
  std::uint64_t known_steps() const { return kind == Kind::kSteps ? static_cast<std::uint64_t>(steps) : 0; }
  /// "every 500 steps", "every 10min": text for people.
  std::string described() const;
};

/// Reads "continuous", "auto", or a whole number with s, min, h or d ("10min"); nullopt for other text.
std::optional<SaveInterval> parse_save_interval(const std::string& text);
/// For a text that parse_save_interval() does not accept: what the user probably meant, as TOML; "" if that is not
/// clear.
std::string meant_save_interval(const std::string& text);

}  // namespace titan::recipe
