#pragma once
// Formats and parses numbers for people: sizes, durations, counts, times. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/size_text.h"

namespace titan::cli {

/// "1023 B", "1.5 GiB"; plain digits with `exact`.
std::string format_bytes(std::uint64_t bytes, bool exact = false);
using ckpt::parse_bytes;
/// "0.3s", "45s", "2m03s", "1h02m", "3d04h"; "0s" for 0, negative values and NaN.
std::string format_duration(double seconds);
/// The seconds of "90s", "45m", "6h" or "1.5d"; nullopt for any other text, and if the number is not positive.
std::optional<double> parse_duration(std::string_view text);
/// 1234567 -> "1,234,567".
std::string format_count(std::uint64_t value);
/// The shortest text that reads back as the same double; or "nan", "inf", "-inf".
std::string format_real(double value);
/// At most `digits` significant digits, for people: 0.00030000000000000003 -> "0.0003".
std::string format_rounded(double value, int digits = 4);
/// 0.0314 -> "3.14%".
std::string format_share(double share, int digits = 3);
/// Seconds since the epoch of an RFC 3339 time in UTC ("2026-01-02T03:04:05Z"; a fraction of a second is dropped);
/// nullopt if `text` is no such time.
std::optional<std::int64_t> parse_utc(std::string_view text);
/// The reverse of parse_utc, in whole seconds.
std::string format_utc(std::int64_t seconds);

}  // namespace titan::cli
