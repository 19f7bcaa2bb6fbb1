#pragma once
// Where an axis has its marks, and what stands beside them. Pure.
#include <cstddef>
#include <string>
#include <vector>

namespace titan::recipe {

enum class Scale { kLinear, kLog };

struct Tick {
  double value = 0;
  std::string label;  ///< empty: a mark without a number (between the powers of ten of a logarithmic axis)
  bool operator==(const Tick&) const = default;
};

/// An axis from `low` to `high`, both finite, low < high, on a logarithmic one 0 < low.
struct Axis {
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;
  std::vector<Tick> ticks;  ///< ascending, within [low, high]

  /// 0 at `low`, 1 at `high`; beyond that outside of [0, 1]. Of what a logarithmic axis cannot show: -1.
  double place(double value) const;
};

/// 1, 2 or 5 times a power of ten: the least of these that cuts [low, high] into at most `most` intervals.
double nice_step(double low, double high, std::size_t most);

/// An axis of the values [low, high] with marks that cut it into at most `most` intervals. `widen` moves its ends
/// outwards to the next mark; else they stay, apart from an interval without a width.
Axis make_axis(double low, double high, Scale scale, std::size_t most, bool widen);

/// The value as a mark would say it where marks are `step` apart: "0", "0.5", "200k", "3e-4".
std::string tick_label(double value, double step);

}  // namespace titan::recipe
