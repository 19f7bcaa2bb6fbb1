#pragma once
// The ticks of an axis and their labels. Pure.
#include <cstddef>
#include <string>
#include <vector>

namespace titan::recipe {

enum class Scale { kLinear, kLog };

struct Tick {
  double value = 0;
  std::string label;  ///< empty: a tick without a number (on a logarithmic axis)
  bool operator==(const Tick&) const = default;
};

/// An axis from `low` to `high`, both finite, low < high; on a logarithmic axis 0 < low.
struct Axis {
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;
  std::vector<Tick> ticks;  ///< ascending, within [low, high]

  /// The position of `value`: 0 at `low`, 1 at `high`, outside of [0, 1] beyond them. -1 for a value that a logarithmic
  /// axis cannot show.
  double place(double value) const;
};

/// The smallest number that is 1, 2 or 5 times a power of ten and divides [low, high] into at most `most` intervals.
double nice_step(double low, double high, std::size_t most);

/// An axis for the values [low, high]. Ticks are nice_step(low, high, most) apart. But on a logarithmic axis of a
/// decade or more they are at 1, 2 and 5 times each power of ten, and at most about `most` of them have labels. With
/// `widen`, the ends move outwards to the next tick, except on a logarithmic axis of less than a decade; otherwise they
/// stay, unless low = high.
Axis make_axis(double low, double high, Scale scale, std::size_t most, bool widen);

/// The label of `value` if ticks are `step` apart: "0", "0.5", "200k", "3e-4".
std::string tick_label(double value, double step);

}  // namespace titan::recipe
