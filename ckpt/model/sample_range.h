#pragma once
// Samples that are excluded from a run's data, as ranges of sample numbers (pure values).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace titan::ckpt {

inline constexpr std::uint64_t kMaxSample = std::uint64_t{1} << 62;  ///< every sample number is below this

/// `count` samples from `first` on.
struct SampleRange {
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count; }
  bool operator==(const SampleRange&) const = default;
};

/// Ranges in ascending order, none empty, with a gap between consecutive ones.
using SampleRanges = std::vector<SampleRange>;

/// Whether `ranges` ascend, are not empty, have gaps between them, and end at or before kMaxSample.
bool is_in_order(const SampleRanges& ranges);
/// Sorts `ranges`, drops empty ones and joins those that touch or overlap.
SampleRanges in_order(SampleRanges ranges);
/// The samples that are in `a` or in `b`.
SampleRanges with_ranges(const SampleRanges& a, const SampleRanges& b);
/// The samples that are in `a` and not in `b`.
SampleRanges without_ranges(const SampleRanges& a, const SampleRanges& b);
/// The parts of `ranges` at or after `sample`.
SampleRanges ahead_of(const SampleRanges& ranges, std::uint64_t sample);
/// The sample with index `index` (from 0) among the samples at or after `from` that are in none of `ranges`.
std::uint64_t kept_sample(const SampleRanges& ranges, std::uint64_t from, std::uint64_t index);

/// The first and last sample of each range: "32-39, 64".
std::string ranges_text(const SampleRanges& ranges);
/// Reads "32-39" or "64"; nullopt for other text, or for samples from kMaxSample on.
std::optional<SampleRange> parse_range(const std::string& text);

}  // namespace titan::ckpt
