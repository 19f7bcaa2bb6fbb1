#include "recipe/history/ticks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace titan::recipe {
namespace {

std::string fixed(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", std::clamp(decimals, 0, 12), value);
  // Writes "0" instead of "-0".
  const std::string text = buffer;
  return text.find_first_not_of("-0.") == std::string::npos ? text.substr(text[0] == '-' ? 1 : 0) : text;
}

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-9)); }

/// 3e-4, 1.5e-5: with enough digits for ticks that are `step` apart.
std::string scientific(double value, double step) {
  if (value == 0) return "0";
  const int exponent = exponent_of(value);
  const int decimals = std::max(0, exponent - exponent_of(step));
  std::string digits = fixed(value / std::pow(10.0, exponent), decimals);
  // 1e-3 next to 5e-4, not 1.0e-3.
  if (digits.find('.') != std::string::npos) digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits + "e" + std::to_string(exponent);
}

Axis linear_axis(double low, double high, std::size_t most, bool widen) {
  if (!(low < high)) {
    const double room = low == 0 ? 1 : std::fabs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double step = nice_step(low, high, most);
  constexpr double kSlack = 1e-9;  // tolerance, as a fraction of a step, so that rounding does not lose a tick
  if (widen) {
    low = std::floor(low / step + kSlack) * step;
    high = std::ceil(high / step - kSlack) * step;
  }
  Axis axis{Scale::kLinear, low, high, {}};
  for (double k = std::ceil(low / step - kSlack); k * step <= high + kSlack * step; ++k)
    axis.ticks.push_back({std::clamp(k * step, low, high), ""});
  for (Tick& tick : axis.ticks) tick.label = tick_label(tick.value, step);
  return axis;
}

Axis log_axis(double low, double high, std::size_t most, bool widen) {
  if (!(low < high)) {
    low /= 2;
    high *= 2;
  }
  const double decades = std::log10(high / low);
  // On a range of less than a decade, ticks in equal steps are better than powers of ten.
  if (decades < 1) {
    Axis axis = linear_axis(low, high, most, false);
    axis.scale = Scale::kLog;
    return axis;
  }
  const int every = std::max(1, static_cast<int>(std::ceil(decades / static_cast<double>(most))));
  if (widen) {
    // Moves to the next number that is 1, 2 or 5 times a power of ten.
    const auto outward = [](double value, bool up) {
      const double power = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
      double found = up ? 10 * power : power;
      for (const double factor : {2.0, 5.0}) {
        const double candidate = factor * power;
        if (up && candidate >= value * (1 - 1e-9)) {
          found = candidate;
          break;
        }
        if (!up && candidate <= value * (1 + 1e-9)) found = candidate;
      }
      return up && power >= value * (1 - 1e-9) ? power : found;
    };
    low = outward(low, false);
    high = outward(high, true);
  }
  Axis axis{Scale::kLog, low, high, {}};
  const int first = static_cast<int>(std::floor(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) + 1e-9));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (const int factor : {1, 2, 5}) {
      const double value = factor * std::pow(10.0, exponent);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      const bool labelled =
          (factor == 1 && exponent % every == 0) || (decades <= 2 && 3 * decades <= static_cast<double>(most));
      axis.ticks.push_back({value, labelled ? tick_label(value, value) : ""});
    }
  }
  return axis;
}

}  // namespace

double Axis::place(double value) const {
  if (scale == Scale::kLinear) return (value - low) / (high - low);
  return value > 0 ? std::log(value / low) / std::log(high / low) : -1;
}

double nice_step(double low, double high, std::size_t most) {
  const double least = (high - low) / static_cast<double>(std::max<std::size_t>(most, 1));
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string tick_label(double value, double step) {
  const double size = std::max(std::fabs(value), step);
  if (value == 0 || std::fabs(value) < step * 1e-6) return "0";
  if (size >= 1e15 || size < 1e-2) return scientific(value, step);
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [unit, name] : kUnits)
    if (size >= unit && size >= 1e4) return fixed(value / unit, -exponent_of(step / unit)) + name;
  return fixed(value, -exponent_of(step));
}

Axis make_axis(double low, double high, Scale scale, std::size_t most, bool widen) {
  return scale == Scale::kLog ? log_axis(low, high, std::max<std::size_t>(most, 1), widen)
                              : linear_axis(low, high, std::max<std::size_t>(most, 1), widen);
}

}  // namespace titan::recipe
