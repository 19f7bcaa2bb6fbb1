#include "ckpt/base/size_text.h"

#include <charconv>

#include "ckpt/base/printed.h"

namespace titan::ckpt {

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= 1023.95 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  return printed("%.1f %s", value, kUnits[unit]);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {
      {"", 1},
      {"B", 1},
      {"KB", 1'000},
      {"MB", 1'000'000},
      {"GB", 1'000'000'000},
      {"TB", 1'000'000'000'000},
      {"K", 1ull << 10},
      {"KiB", 1ull << 10},
      {"M", 1ull << 20},
      {"MiB", 1ull << 20},
      {"G", 1ull << 30},
      {"GiB", 1ull << 30},
      {"TiB", 1ull << 40},
  };
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, bytes] : kUnits) {
    if (unit == name) return number > UINT64_MAX / bytes ? std::nullopt : std::optional(number * bytes);
  }
  return std::nullopt;
}

}  // namespace titan::ckpt
