#pragma once
// Samples that a run leaves out of its data, as ranges of sample numbers (pure values).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace titan::ckpt {

inline constexpr std::uint64_t kMaxSample = std::uint64_t{1} << 62;  ///< sample numbers are below

/// `count` samples from `first` on.
struct SampleRange {
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count; }
  bool operator==(const SampleRange&) const = default;
};

/// Ascending, none empty, a gap between each two.
using SampleRanges = std::vector<SampleRange>;

/// Whether `ranges` ascend, are not empty, do not touch, and end at kMaxSample at most.
bool is_in_order(const SampleRanges& ranges);
/// `ranges` in any order, put in order.
SampleRanges in_order(SampleRanges ranges);
SampleRanges with_ranges(const SampleRanges& a, const SampleRanges& b);
/// What is in `a` and not in `b`.
SampleRanges without_ranges(const SampleRanges& a, const SampleRanges& b);
/// What of `ranges` does not lie before `sample`.
SampleRanges ahead_of(const SampleRanges& ranges, std::uint64_t sample);
/// Number `index` (from 0) of the samples from `from` on that are not in `ranges`.
std::uint64_t kept_sample(const SampleRanges& ranges, std::uint64_t from, std::uint64_t index);

/// "32-39, 64": first and last of each.
std::string ranges_text(const SampleRanges& ranges);
/// Reads "32-39" or "64"; nothing where it is neither, or beyond kMaxSample.
std::optional<SampleRange> parse_range(const std::string& text);

}  // namespace titan::ckpt
