#include "libtrain/reduce/sharded_sums.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "libtrain/device/device.h"

namespace titan::train {

ShardedSums::ShardedSums(Fabric& dp, const ExchangePlan& plan, std::uint32_t count, const at::Tensor& bytes)
    : dp_(dp), plan_(plan), count_(count), bytes_(bytes) {}

void ShardedSums::add(std::uint32_t turn, const std::vector<at::Tensor>& slots) {
  const auto ranks = static_cast<std::uint32_t>(plan_.owners.size());
  const std::uint32_t first = turn * ranks;
  const SegmentRow& mine = plan_.owners[plan_.me];
  if (sums_.empty()) sums_.assign(static_cast<std::size_t>(plan_.pieces()), TreeSum(count_, {0, count_}));
  const at::Tensor buffer = bytes_.narrow(0, 0, bytes_.numel() / 4 * 4).view(at::kFloat);
  std::vector<std::int64_t> in_splits(ranks), out_splits(ranks);
  for (std::int64_t index = 0; index < plan_.pieces(); ++index) {
    const std::int64_t from = index * plan_.piece, to = from + plan_.piece;
    const auto length = [&](const SegmentRow& row) {
      return std::max<std::int64_t>(0, std::min(to, row.length()) - from);
    };
    std::int64_t at = 0, out_total = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      in_splits[rank] = slots.empty() ? 0 : length(plan_.owners[rank]);
      out_total += out_splits[rank] = first + rank < count_ ? length(mine) : 0;
      if (slots.empty()) continue;
      for (const Segment& segment : plan_.owners[rank].cut(from, to)) {
        buffer.narrow(0, at, segment.length).copy_(slots[segment.slot].narrow(0, segment.begin, segment.length));
        at += segment.length;
      }
    }
    const at::Tensor in = buffer.narrow(0, 0, at);
    at::Tensor out = buffer.narrow(0, at, out_total);
    dp_.all_to_all(out, out_splits, in, in_splits);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (out_splits[rank] > 0)
        sums_[static_cast<std::size_t>(index)].insert(first + rank, out.narrow(0, rank * length(mine), length(mine)));
  }
}

std::vector<at::Tensor> ShardedSums::finish(std::size_t slots) {
  const SegmentRow& mine = plan_.owners[plan_.me];
  std::vector<at::Tensor> owned(slots);
  std::vector<std::int64_t> begin(slots);
  for (const Segment& segment : mine.segments()) {
    owned[segment.slot] = at::empty({segment.length}, device().options(at::kFloat));
    begin[segment.slot] = segment.begin;
  }
  for (std::int64_t index = 0; index * plan_.piece < mine.length(); ++index) {
    const at::Tensor root = sums_[static_cast<std::size_t>(index)].finish().at(0);
    std::int64_t at = 0;
    for (const Segment& segment : mine.cut(index * plan_.piece, (index + 1) * plan_.piece)) {
      owned[segment.slot]
          .narrow(0, segment.begin - begin[segment.slot], segment.length)
          .copy_(root.narrow(0, at, segment.length));
      at += segment.length;
    }
  }
  return owned;
}

}  // namespace titan::train
