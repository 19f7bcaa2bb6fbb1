#include "libtrain/job/data/mapped_stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace titan::train {
namespace {

using ckpt::Status;

/// Calls `take` with the index and value of `count` ids of one type, from `from` on.
template <typename Id, typename Take>
void each_of(const std::byte* from, std::uint64_t count, const Take& take) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Id id;
    std::memcpy(&id, from + i * sizeof id, sizeof id);
    take(i, static_cast<std::int64_t>(id));
  }
}

/// As above, for the ids of `segment` from index `skip` on.
template <typename Take>
void each_id(const DataSegment& segment, std::uint64_t skip, std::uint64_t count, const Take& take) {
  const corpus::TokenFile& layout = segment.layout;
  const std::byte* from = segment.file.bytes().data() + layout.offset + skip * layout.width;
  switch (layout.width) {
    case 1:
      return layout.is_signed ? each_of<std::int8_t>(from, count, take) : each_of<std::uint8_t>(from, count, take);
    case 2:
      return layout.is_signed ? each_of<std::int16_t>(from, count, take) : each_of<std::uint16_t>(from, count, take);
    case 4:
      return layout.is_signed ? each_of<std::int32_t>(from, count, take) : each_of<std::uint32_t>(from, count, take);
    default: return each_of<std::int64_t>(from, count, take);
  }
}

void read_ids(const DataSegment& segment, std::uint64_t skip, std::span<std::int64_t> out) {
  each_id(segment, skip, out.size(), [out](std::uint64_t i, std::int64_t id) { out[i] = id; });
}

/// Checks that the numbers next to a file ascend and do not exceed its number of tokens.
Status check_ascends(const MappedNumbers& numbers, std::uint64_t place, std::uint64_t before, bool strictly,
                     std::uint64_t most) {
  const std::uint64_t value = numbers.at(place);
  if (value <= most && (strictly ? value > before : value >= before)) return {};
  return ckpt::corrupt("'" + numbers.path() + "': number " + std::to_string(place) + " is " + std::to_string(value) +
                       ", expected one " + (strictly ? "above " : "from ") + std::to_string(before) + " on up to " +
                       std::to_string(most))
      .with_hint("`titan-ckpt tokens --verify` of the folder says what is damaged");
}

/// Appends the document ends of `segment` in (begin, end), as stream positions.
Status add_ends(const DataSegment& segment, std::uint64_t begin, std::uint64_t end,
                std::vector<std::uint64_t>& starts) {
  const MappedNumbers& ends = segment.ends;
  std::uint64_t last = begin;
  for (std::uint64_t i = ends.first_above(begin); i < ends.size(); ++i) {
    TITAN_RETURN_IF_ERROR(check_ascends(ends, i, last, !ends.may_repeat(), segment.layout.tokens));
    const std::uint64_t value = ends.at(i);
    if (value >= end) break;
    if (value > last) starts.push_back(segment.begin + value);
    last = value;
  }
  return {};
}

/// Appends the positions in (begin, end) of `segment` that follow an id `last`, as stream positions.
void add_behind(const DataSegment& segment, std::int64_t last, std::uint64_t begin, std::uint64_t end,
                std::vector<std::uint64_t>& starts) {
  if (end < begin + 2) return;
  each_id(segment, begin, end - begin - 1, [&](std::uint64_t i, std::int64_t id) {
    if (id == last) starts.push_back(segment.begin + begin + i + 1);
  });
}

/// Appends the positions in [begin, end) of `segment` that are not trained on, as stream positions.
Status add_untrained(const DataSegment& segment, std::uint64_t begin, std::uint64_t end,
                     std::vector<std::uint64_t>& places) {
  const MappedNumbers& answers = segment.answers;
  if (!answers.has_file()) return {};
  // Range begins have even indexes, ends odd ones. The first number above `begin` tells whether `begin` is in a range.
  std::uint64_t next = answers.first_above(begin), last = next == 0 ? 0 : answers.at(next - 1);
  for (std::uint64_t at = begin; at < end; ++next) {
    std::uint64_t until = end;
    if (next < answers.size()) {
      TITAN_RETURN_IF_ERROR(check_ascends(answers, next, last, false, segment.layout.tokens));
      last = answers.at(next);
      until = std::min(end, std::max(at, last));
    }
    const bool trained = next % 2 == 1 && next < answers.size();
    for (; at < until; ++at)
      if (!trained) places.push_back(segment.begin + at);
    if (next >= answers.size()) break;
  }
  return {};
}

class MappedStream : public TokenStream {
 public:
  MappedStream(std::vector<DataSegment> segments, std::uint64_t tokens, std::uint64_t bound,
               std::optional<std::int64_t> document_end)
      : segments_(std::move(segments)), tokens_(tokens), bound_(bound), document_end_(document_end) {}

  std::uint64_t size() const override { return tokens_; }
  std::uint64_t id_bound() const override { return bound_; }

  void arrange(std::span<const std::size_t> order) override {
    assert(order.size() == segments_.size());
    std::vector<DataSegment> arranged;
    std::uint64_t begin = 0;
    for (const std::size_t place : order) {
      arranged.push_back(std::move(segments_[place]));
      arranged.back().begin = begin;
      begin += arranged.back().layout.tokens;
    }
    segments_ = std::move(arranged);
  }

  void read(std::uint64_t begin, std::span<std::int64_t> out) const override {
    assert(begin + out.size() <= tokens_);
    for (auto segment = find(begin); !out.empty(); ++segment) {
      const std::uint64_t skip = begin - segment->begin;
      const std::size_t count = std::min<std::uint64_t>(out.size(), segment->layout.tokens - skip);
      read_ids(*segment, skip, out.first(count));
      out = out.subspan(count);
      begin += count;
    }
  }

  Status starts(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) const override {
    for (auto segment = find(begin); segment != segments_.end() && segment->begin < end; ++segment) {
      if (segment->begin > begin) starts.push_back(segment->begin);
      const std::uint64_t from = std::max(begin, segment->begin) - segment->begin,
                          to = std::min(end - segment->begin, segment->layout.tokens);
      const auto of_segment = static_cast<std::ptrdiff_t>(starts.size());
      TITAN_RETURN_IF_ERROR(add_ends(*segment, from, to, starts));
      if (!document_end_) continue;
      add_behind(*segment, *document_end_, from, to, starts);
      std::sort(starts.begin() + of_segment, starts.end());
      starts.erase(std::unique(starts.begin() + of_segment, starts.end()), starts.end());
    }
    return {};
  }

  Status untrained(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& places) const override {
    for (auto segment = find(begin); segment != segments_.end() && segment->begin < end; ++segment)
      TITAN_RETURN_IF_ERROR(add_untrained(*segment, std::max(begin, segment->begin) - segment->begin,
                                          std::min(end - segment->begin, segment->layout.tokens), places));
    return {};
  }
  bool all_trained() const override {
    return std::ranges::none_of(segments_, [](const DataSegment& segment) { return segment.answers.has_file(); });
  }

  std::string describe(std::uint64_t position) const override {
    const auto segment = find(position);
    return "'" + segment->file.path() + "', token " + std::to_string(position - segment->begin);
  }

 private:
  std::vector<DataSegment>::const_iterator find(std::uint64_t position) const {
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), position,
                         [](std::uint64_t at, const DataSegment& segment) { return at < segment.begin; });
    return after - 1;
  }

  std::vector<DataSegment> segments_;  ///< none is empty
  std::uint64_t tokens_, bound_;
  std::optional<std::int64_t> document_end_;
};

}  // namespace

std::unique_ptr<TokenStream> make_mapped_stream(std::vector<DataSegment> segments, std::uint64_t tokens,
                                                std::uint64_t bound, std::optional<std::int64_t> document_end) {
  return std::make_unique<MappedStream>(std::move(segments), tokens, bound, document_end);
}

}  // namespace titan::train
