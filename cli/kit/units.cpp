#include "cli/kit/units.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "ckpt/base/printed.h"
#include "ckpt/base/size_text.h"
#include "ckpt/base/text.h"

namespace titan::cli {

namespace {

using ckpt::printed;

/// Reads exactly the digits of `text`; nullopt for anything else.
std::optional<int> digits(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : ckpt::number_of<int>(text);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes, bool exact) {
  return exact ? std::to_string(bytes) : ckpt::size_text(bytes);
}

std::string format_duration(double seconds) {
  if (!(seconds > 0)) return "0s";
  if (seconds < 9.95) return printed("%.1fs", seconds);
  const auto total = static_cast<std::uint64_t>(std::llround(seconds));
  const auto part = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  if (total < 60) return printed("%llus", part(total));
  if (total < 3600) return printed("%llum%02llus", part(total / 60), part(total % 60));
  if (total < 86400) return printed("%lluh%02llum", part(total / 3600), part(total % 3600 / 60));
  return printed("%llud%02lluh", part(total / 86400), part(total % 86400 / 3600));
}

std::optional<double> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  for (const auto& [name, seconds] :
       {std::pair<std::string_view, double>{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}})
    if (unit == name) return number * seconds;
  return std::nullopt;
}

std::string format_count(std::uint64_t value) { return ckpt::with_commas(std::to_string(value)); }

std::string format_real(double value) { return ckpt::digits_of(value); }

std::string format_rounded(double value, int digits) {
  if (!std::isfinite(value)) return ckpt::digits_of(value);
  return printed("%.*g", digits, value);
}

std::string format_share(double share, int digits) { return format_rounded(100 * share, digits) + "%"; }

std::optional<std::int64_t> parse_utc(std::string_view text) {
  // YYYY-MM-DDThh:mm:ss[.fraction]Z
  if (text.size() < 20 || text.back() != 'Z' || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto year = digits(text.substr(0, 4)), month = digits(text.substr(5, 2)), day = digits(text.substr(8, 2));
  const auto hour = digits(text.substr(11, 2)), minute = digits(text.substr(14, 2)),
             second = digits(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + *hour * 3600 + *minute * 60 + *second;
}

std::string format_utc(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return printed("%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                 static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
}

}  // namespace titan::cli
