#include "ckpt/model/sample_range.h"

#include <algorithm>

#include "ckpt/base/text.h"

namespace titan::ckpt {

bool is_in_order(const SampleRanges& ranges) {
  std::uint64_t free = 0;  // the first sample at which a range may begin
  for (const SampleRange& range : ranges) {
    if (range.count == 0 || range.first < free || range.first >= kMaxSample || range.count > kMaxSample - range.first)
      return false;
    free = range.end() + 1;
  }
  return true;
}

SampleRanges in_order(SampleRanges ranges) {
  std::erase_if(ranges, [](const SampleRange& range) { return range.count == 0; });
  std::ranges::sort(ranges, {}, &SampleRange::first);
  SampleRanges out;
  for (const SampleRange& range : ranges) {
    if (out.empty() || range.first > out.back().end())
      out.push_back(range);
    else
      out.back().count = std::max(out.back().end(), range.end()) - out.back().first;
  }
  return out;
}

SampleRanges with_ranges(const SampleRanges& a, const SampleRanges& b) {
  SampleRanges all = a;
  all.insert(all.end(), b.begin(), b.end());
  return in_order(std::move(all));
}

SampleRanges without_ranges(const SampleRanges& a, const SampleRanges& b) {
  SampleRanges out;
  for (const SampleRange& range : a) {
    std::uint64_t at = range.first;
    for (const SampleRange& gone : b) {
      if (gone.end() <= at || gone.first >= range.end()) continue;
      if (gone.first > at) out.push_back({at, gone.first - at});
      at = gone.end();
    }
    if (at < range.end()) out.push_back({at, range.end() - at});
  }
  return out;
}

SampleRanges ahead_of(const SampleRanges& ranges, std::uint64_t sample) {
  return without_ranges(ranges, {{0, sample}});
}

std::uint64_t kept_sample(const SampleRanges& ranges, std::uint64_t from, std::uint64_t index) {
  std::uint64_t at = from + index;
  for (const SampleRange& range : ranges) {
    const std::uint64_t first = std::max(range.first, from);
    if (range.end() <= from || first > at) continue;
    at += range.end() - first;
  }
  return at;
}

std::string ranges_text(const SampleRanges& ranges) {
  std::vector<std::string> parts;
  for (const SampleRange& range : ranges)
    parts.push_back(std::to_string(range.first) + (range.count > 1 ? "-" + std::to_string(range.end() - 1) : ""));
  return joined(parts);
}

std::optional<SampleRange> parse_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = number_of<std::uint64_t>(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : number_of<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last >= kMaxSample) return std::nullopt;
  return SampleRange{*first, *last - *first + 1};
}

}  // namespace titan::ckpt
