#include "libtrain/engine/exchange/row_exchange.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/parallel/links/tags.h"

namespace titan::train {
namespace {

// Tags per swap: message k uses tag k mod 4. When a message starts, the message four before it has arrived on both
// sides.
constexpr std::uint64_t kTagsPerSwap = 4;
// Tags of the slices of one exchange: slice k uses tag k mod 4.
constexpr std::uint64_t kTagsOfSlices = 4;

at::Tensor part(const Summands& summands, const Segment& segment) {
  return summands[segment.summand].narrow(0, segment.begin, segment.length);
}

/// Calls f(part of `summands`, part of `buffer`) for each segment of elements [from, to) of the row.
template <typename F>
void for_parts(const SegmentRow& row, std::int64_t from, std::int64_t to, const Summands& summands,
               const at::Tensor& buffer, const F& f) {
  std::int64_t at = 0;
  for (const Segment& segment : row.cut(from, to)) {
    f(part(summands, segment), buffer.narrow(0, at, segment.length));
    at += segment.length;
  }
}

/// The number of segments of elements [from, to) of the row. Each is copied separately.
std::size_t parts_in(const SegmentRow& row, std::int64_t from, std::int64_t to) { return row.cut(from, to).size(); }

std::int64_t length_in(const SegmentRow& row, std::int64_t from, std::int64_t to) {
  return std::max<std::int64_t>(0, std::min(to, row.length()) - from);
}

void copy_to_buffer(const at::Tensor& weights, at::Tensor buffer) { buffer.copy_(weights); }
void copy_from_buffer(at::Tensor weights, const at::Tensor& buffer) { weights.copy_(buffer); }

}  // namespace

RowExchange::RowExchange(std::int64_t bytes) : bytes_(at::empty({bytes}, device().options(at::kByte))) {}

at::Tensor RowExchange::buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const {
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  return bytes_.narrow(0, first * width, elements * width).view(type);
}

template <typename Use>
void RowExchange::swap_rows(Fabric& group, const ExchangePlan& plan, const Swap& swap, bool sums, std::uint64_t tag,
                            const Summands& summands, at::ScalarType type, const Use& use) const {
  struct UnderWay {
    at::Tensor out, in;
    std::unique_ptr<Transfer> swap;
  };
  // While one message is in transit, another is packed or added.
  std::array<UnderWay, kSwapsUnderWay> under_way;
  const SegmentRow &give = sums ? swap.theirs : swap.mine, &take = sums ? swap.mine : swap.theirs;
  const std::int64_t messages = plan.messages(swap);
  const std::int64_t room = std::min(plan.message, std::max(give.length(), take.length()));
  const auto begin = [&](std::int64_t index) {
    const std::int64_t from = index * plan.message, to = from + plan.message, place = index % kSwapsUnderWay * 2;
    UnderWay& one = under_way[static_cast<std::size_t>(index % kSwapsUnderWay)];
    one.out = buffer(place * room, length_in(give, from, to), type);
    one.in = buffer((place + 1) * room, length_in(take, from, to), type);
    for_parts(give, from, to, summands, one.out, copy_to_buffer);
    const std::uint64_t turn = tag + static_cast<std::uint64_t>(index) % kTagsPerSwap;
    one.swap = group.swap(one.out, one.in, static_cast<int>(swap.peer), turn);
  };
  const auto end = [&](std::int64_t index) {
    UnderWay& one = under_way[static_cast<std::size_t>(index % kSwapsUnderWay)];
    one.swap->wait();
    for_parts(take, index * plan.message, (index + 1) * plan.message, summands, one.in, use);
  };
  for (std::int64_t index = 0; index < messages; ++index) {
    const std::int64_t from = index * plan.message, to = from + plan.message;
    device().keep_pace(kLaunchesOfTransfer + parts_in(give, from, to) + parts_in(take, from, to));
    begin(index);
    if (index > 0) end(index - 1);
  }
  if (messages > 0) end(messages - 1);
}

void RowExchange::sum(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                      const std::vector<Summands>& partials) const {
  if (!plan.owners.empty()) sum_by_slices(group, plan, tag, partials);
  sum_by_swaps(group, plan, tag + kTagsOfSlices, partials.front());
}

std::uint64_t RowExchange::copy(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type,
                                const Summands& summands) const {
  for (const Swap& swap : plan.handed)
    swap_rows(group, plan, swap, false, kHandedTag, summands, type, copy_from_buffer);
  for (auto swap = plan.swaps.rbegin(); swap != plan.swaps.rend(); ++swap) {
    swap_rows(group, plan, *swap, false, tag, summands, type, copy_from_buffer);
    tag += kTagsPerSwap;
  }
  if (!plan.owners.empty()) copy_by_slices(group, plan, type, summands);
  return tag;
}

void RowExchange::sum_by_swaps(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Summands& sums) const {
  for (const Swap& swap : plan.swaps) {
    // The lower rank has the micro-batches with lower numbers, so its sum is the left operand.
    const bool left = plan.me < swap.peer;
    const auto add = [&](at::Tensor own, const at::Tensor& received) {
      if (left) {
        at::add_out(own, own, received);
      } else {
        at::add_out(own, received, own);
      }
    };
    swap_rows(group, plan, swap, true, tag, sums, at::kFloat, add);
    tag += kTagsPerSwap;
  }
  for (const Swap& swap : plan.handed)
    swap_rows(group, plan, swap, true, kHandedTag, sums, at::kFloat, copy_from_buffer);
}

RowExchange::Slice RowExchange::slice_of(const ExchangePlan& plan, std::int64_t index) {
  Slice slice{.from = index * plan.slice, .to = (index + 1) * plan.slice};
  slice.length = length_in(plan.owners[plan.me], slice.from, slice.to);
  for (std::size_t rank = 0; rank < plan.owners.size(); ++rank) {
    slice.of_owners.push_back(length_in(plan.owners[rank], slice.from, slice.to) * plan.gives[rank].count);
    slice.of_mine.push_back(slice.length * plan.takes[rank]);
  }
  return slice;
}

template <typename Fill>
at::Tensor RowExchange::exchange_slice(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                                       const Splits& out_splits, const Splits& in_splits, at::ScalarType type,
                                       const Fill& fill) const {
  const auto total = [](const Splits& splits) {
    return std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  };
  const at::Tensor in = buffer(0, total(in_splits), type);
  at::Tensor out = buffer(in.numel(), total(out_splits), type);
  fill(in);
  if (plan.all) {
    group.all_to_all(out, out_splits, in, in_splits);
  } else {
    group.exchange(out, out_splits, in, in_splits, tag);
  }
  return out;
}

void RowExchange::sum_by_slices(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                                const std::vector<Summands>& partials) const {
  for (std::int64_t index = 0; index < plan.slices(); ++index) {
    const Slice slice = slice_of(plan, index);
    std::size_t copies = plan.additions.size() + parts_in(plan.owners[plan.me], slice.from, slice.to);
    for (std::size_t rank = 0; rank < plan.owners.size(); ++rank)
      copies += plan.gives[rank].count * parts_in(plan.owners[rank], slice.from, slice.to);
    device().keep_pace(kLaunchesOfTransfer + copies);
    // Rows are sent in the order of owners, then of nodes. They arrive in the order of ranks, then of nodes.
    const auto fill = [&](const at::Tensor& in) {
      std::int64_t at = 0;
      for (std::size_t rank = 0; rank < plan.owners.size(); ++rank) {
        const std::int64_t row = length_in(plan.owners[rank], slice.from, slice.to);
        const NodeRange& nodes = plan.gives[rank];
        for (std::uint32_t node = nodes.first; node < nodes.first + nodes.count; ++node) {
          for_parts(plan.owners[rank], slice.from, slice.to, partials[node], in.narrow(0, at, row), copy_to_buffer);
          at += row;
        }
      }
    };
    const at::Tensor out = exchange_slice(group, plan, tag + static_cast<std::uint64_t>(index) % kTagsOfSlices,
                                          slice.of_mine, slice.of_owners, at::kFloat, fill);
    if (out.numel() == 0) continue;
    const auto row = [&](std::uint32_t number) { return out.narrow(0, number * slice.length, slice.length); };
    for (const Addition& addition : plan.additions) row(addition.into).add_(row(addition.from));
    for_parts(plan.owners[plan.me], slice.from, slice.to, partials.front(), row(0), copy_from_buffer);
  }
}

void RowExchange::copy_by_slices(Fabric& group, const ExchangePlan& plan, at::ScalarType type,
                                 const Summands& summands) const {
  for (std::int64_t index = 0; index < plan.slices(); ++index) {
    const Slice slice = slice_of(plan, index);
    const auto fill = [&](const at::Tensor& in) {
      for (std::int64_t at = 0; at < in.numel(); at += slice.length)
        for_parts(plan.owners[plan.me], slice.from, slice.to, summands, in.narrow(0, at, slice.length), copy_to_buffer);
    };
    const std::uint64_t tag = kWeightSliceTags + static_cast<std::uint64_t>(index) % kTagsOfSlices;
    std::size_t copies = 0;
    for (const SegmentRow& row : plan.owners) copies += parts_in(row, slice.from, slice.to);
    for (const std::int64_t length : slice.of_mine)
      if (length > 0) copies += parts_in(plan.owners[plan.me], slice.from, slice.to);
    device().keep_pace(kLaunchesOfTransfer + copies);
    const at::Tensor out = exchange_slice(group, plan, tag, slice.of_owners, slice.of_mine, type, fill);
    std::int64_t at = 0;
    for (std::size_t rank = 0; rank < plan.owners.size(); ++rank) {
      const std::int64_t length = slice.of_owners[rank];
      if (length == 0) continue;
      for_parts(plan.owners[rank], slice.from, slice.to, summands, out.narrow(0, at, length), copy_from_buffer);
      at += length;
    }
  }
}

}  // namespace titan::train
