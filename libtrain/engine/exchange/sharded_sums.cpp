#include "libtrain/engine/exchange/sharded_sums.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "libtrain/engine/device/device.h"

namespace titan::train {

ShardedSums::ShardedSums(Fabric& domain, const ExchangePlan& plan, std::uint32_t count, Node block, at::ScalarType type,
                         const RowExchange& rows)
    : domain_(domain), plan_(plan), count_(count), block_(block), type_(type), rows_(rows) {}

void ShardedSums::add(std::uint32_t turn, const std::vector<at::Tensor>& summands) {
  const auto ranks = static_cast<std::uint32_t>(plan_.owners.size());
  const std::uint32_t first = block_.lo + turn * ranks;
  const SegmentRow& mine = plan_.owners[plan_.me];
  if (sums_.empty()) sums_.assign(static_cast<std::size_t>(plan_.slices()), TreeSum(count_, block_));
  for (const at::Tensor& summand : summands)
    if (summand.defined() && summand.scalar_type() != type_)
      throw std::logic_error("a gradient of another type than planned");
  const auto room = rows_.bytes().numel() / static_cast<std::int64_t>(c10::elementSize(type_));
  const at::Tensor buffer = rows_.buffer(0, room, type_);
  std::vector<std::int64_t> in_splits(ranks), out_splits(ranks);
  for (std::int64_t index = 0; index < plan_.slices(); ++index) {
    const std::int64_t from = index * plan_.slice, to = from + plan_.slice;
    // `launches` counts a copy for each segment that is packed, and an addition for each rank.
    std::vector<std::vector<Segment>> parts;
    std::size_t launches = kLaunchesOfTransfer;
    for (const SegmentRow& row : plan_.owners) {
      parts.push_back(summands.empty() ? std::vector<Segment>() : row.cut(from, to));
      launches += parts.back().size() + 1;
    }
    device().keep_pace(launches);
    const auto length = [&](const SegmentRow& row) {
      return std::max<std::int64_t>(0, std::min(to, row.length()) - from);
    };
    std::int64_t at = 0, out_total = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      in_splits[rank] = summands.empty() ? 0 : length(plan_.owners[rank]);
      out_total += out_splits[rank] = first + rank < block_.hi ? length(mine) : 0;
      for (const Segment& segment : parts[rank]) {
        buffer.narrow(0, at, segment.length).copy_(summands[segment.summand].narrow(0, segment.begin, segment.length));
        at += segment.length;
      }
    }
    const at::Tensor in = buffer.narrow(0, 0, at);
    at::Tensor out = buffer.narrow(0, at, out_total);
    domain_.all_to_all(out, out_splits, in, in_splits);
    std::vector<at::Tensor> rows;  // by rank; only the last ranks can lack a micro-batch
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (out_splits[rank] > 0) rows.push_back(out.narrow(0, rank * length(mine), length(mine)));
    sums_[static_cast<std::size_t>(index)].insert_rows(first, rows);
  }
}

std::vector<at::Tensor> ShardedSums::finish() {
  const std::int64_t length = plan_.owners[plan_.me].length();
  std::vector<at::Tensor> rows(maximal_nodes(count_, block_).size());
  for (at::Tensor& row : rows) row = at::empty({length}, device().options(at::kFloat));
  for (std::int64_t index = 0; index * plan_.slice < length; ++index) {
    const std::vector<at::Tensor> nodes = sums_[static_cast<std::size_t>(index)].finish();
    for (std::size_t node = 0; node < nodes.size(); ++node)
      rows[node].narrow(0, index * plan_.slice, nodes[node].numel()).copy_(nodes[node]);
  }
  return rows;
}

}  // namespace titan::train
