#include "libtrain/engine/exchange/gradient_exchange.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"

namespace titan::train {
namespace {

// Ranges of tags: far more than a stage has swaps, a tied table pieces, a block nodes.
constexpr std::uint64_t kSumTags = kTiedGradientTag + 0x100000, kCopyTags = kTiedGradientTag + 0x200000,
                        kTiedWeightTags = kTiedGradientTag + 0x1000000;
constexpr std::uint64_t kTagsOfPart = 0x100;
// What is handed over, and slices of weights: the ranks of a group come to these in one order.
constexpr std::uint64_t kHandedTag = kTiedGradientTag + 0x300000, kWeightSliceTags = kTiedGradientTag + 0x400000;

constexpr std::size_t kTurnsUnderWay = 2;
// Of a swap: its pieces take turns. When one begins, that of four before has arrived on both sides.
constexpr std::uint64_t kTagsPerSwap = 4;
// Slices take turns likewise.
constexpr std::uint64_t kTagsOfSlices = 4;

at::Tensor part(const std::vector<at::Tensor>& slots, const Segment& segment) {
  return slots[segment.slot].narrow(0, segment.begin, segment.length);
}

/// Calls f(part of the slots, part of the buffer) for what lies in [from, to) of the row.
template <typename F>
void for_parts(const SegmentRow& row, std::int64_t from, std::int64_t to, const std::vector<at::Tensor>& slots,
               const at::Tensor& buffer, const F& f) {
  std::int64_t at = 0;
  for (const Segment& segment : row.cut(from, to)) {
    f(part(slots, segment), buffer.narrow(0, at, segment.length));
    at += segment.length;
  }
}

std::int64_t length_in(const SegmentRow& row, std::int64_t from, std::int64_t to) {
  return std::max<std::int64_t>(0, std::min(to, row.length()) - from);
}

bool is_64_byte_aligned(const at::Tensor& tensor) { return address_of(tensor) % 64 == 0; }

void copy_to_buffer(const at::Tensor& weights, at::Tensor buffer) { buffer.copy_(weights); }
void copy_from_buffer(at::Tensor weights, const at::Tensor& buffer) { weights.copy_(buffer); }

}  // namespace

GradientExchange::GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                   const RankStages& stages)
    : world_(world),
      plan_(plan),
      stages_(stages),
      exchange_(plan_stage_exchange(plan, owners, static_cast<std::uint32_t>(world.stage),
                                    static_cast<std::uint32_t>(world.dp_rank))),
      bytes_(at::empty({exchange_.buffer_bytes}, device().options(at::kByte))),
      share_(share_of(plan, static_cast<std::uint32_t>(world.dp_rank))) {
  const bool nodes = has_node_groups(plan);
  if (nodes && (!world.node || !world.between_nodes))
    throw std::logic_error("an exchange lacks the groups of its nodes");
  for (const StageExchange::Turns& turns : exchange_.turns) {
    StageTurns& of_stage = turns_of_[stages.stages().at(turns.chunk)->index()];
    if (of_stage.end == 0) of_stage.first = sharded_.size();
    sharded_.emplace_back(nodes ? *world.node : *world.dp, turns.plan, static_cast<std::uint32_t>(plan.batch.count),
                          share_.block, bytes_);
    of_stage.end = sharded_.size();
    of_stage.left = of_stage.end - of_stage.first;
  }
  const auto owned = owners.of(static_cast<std::uint32_t>(world.rank));
  pieces_.assign(owned.begin(), owned.end());
  for (const StageParameter* parameter : stages.parameters()) {
    weights_.push_back(parameter->compute.detach().view(-1));
    if (!parameter->tied_head) slot_of_[parameter->index] = weights_.size() - 1;
  }
  std::size_t slot = 0;
  for (const Stage* stage : stages.stages()) {
    first_slot_[stage->index()] = slot;
    slot += stage->parameters().size();
  }
  for (std::size_t part = 0, piece = 0; part < parts(); ++part) {
    const std::size_t first = piece;
    while (piece < pieces_.size() && exchange_.part_of[slot_of_.at(pieces_[piece].parameter)] == part) ++piece;
    part_pieces_.emplace_back(first, piece);
  }
  next_part_ = parts();
  shared_.resize(parts());
  if (parts() > 1 && plan.exchange_parts > 1) lane_ = device().make_lane();
}

void GradientExchange::connect() {
  const bool nodes = has_node_groups(plan_);
  const GroupWays ways = group_ways(exchange_, nodes);
  world_.dp->expect(ways.stage);
  if (!nodes) return;
  world_.node->expect(ways.node);
  world_.between_nodes->expect(ways.between_nodes);
}

std::int64_t GradientExchange::buffer_bytes() const { return bytes_.numel(); }

at::Tensor GradientExchange::buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const {
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  return bytes_.narrow(0, first * width, elements * width).view(type);
}

template <typename Take>
void GradientExchange::swap_rows(Fabric& group, int peer, std::uint64_t tag, const ExchangePlan& plan,
                                 std::int64_t pieces, const SegmentRow& give, const SegmentRow& take,
                                 const Slots& slots, at::ScalarType type, const Take& use) {
  struct UnderWay {
    at::Tensor out, in;
    std::unique_ptr<Transfer> swap;
  };
  // One piece is packed and added while another one travels.
  std::array<UnderWay, kSwapsUnderWay> under_way;
  const std::int64_t room = std::min(plan.piece, std::max(give.length(), take.length()));
  const auto begin = [&](std::int64_t index) {
    const std::int64_t from = index * plan.piece, to = from + plan.piece, place = index % kSwapsUnderWay * 2;
    UnderWay& one = under_way[static_cast<std::size_t>(index % kSwapsUnderWay)];
    one.out = buffer(place * room, length_in(give, from, to), type);
    one.in = buffer((place + 1) * room, length_in(take, from, to), type);
    for_parts(give, from, to, slots, one.out, copy_to_buffer);
    const std::uint64_t turn = tag + static_cast<std::uint64_t>(index) % kTagsPerSwap;
    one.swap = group.swap(one.out, one.in, peer, turn);
  };
  const auto end = [&](std::int64_t index) {
    UnderWay& one = under_way[static_cast<std::size_t>(index % kSwapsUnderWay)];
    one.swap->wait();
    for_parts(take, index * plan.piece, (index + 1) * plan.piece, slots, one.in, use);
  };
  for (std::int64_t index = 0; index < pieces; ++index) {
    device().keep_pace(kLaunchesOfPiece);
    begin(index);
    if (index > 0) end(index - 1);
  }
  if (pieces > 0) end(pieces - 1);
}

void GradientExchange::sum_over_ranks(const ExchangePlan& plan, std::uint64_t tag, const std::vector<Slots>& partials) {
  Fabric& group = has_node_groups(plan_) ? *world_.between_nodes : *world_.dp;
  if (!plan.owners.empty()) sum_by_slices(group, plan, tag, partials);
  sum_by_swaps(group, plan, tag + kTagsOfSlices, partials.front());
}

void GradientExchange::sum_by_swaps(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Slots& sums) {
  for (const Swap& swap : plan.swaps) {
    // The lower rank has the lower micro-batches: its sum is the left half.
    const bool left = plan.me < swap.peer;
    const auto add = [&](at::Tensor own, const at::Tensor& received) {
      if (left) {
        at::add_out(own, own, received);
      } else {
        at::add_out(own, received, own);
      }
    };
    swap_rows(group, static_cast<int>(swap.peer), tag, plan, plan.pieces(swap), swap.theirs, swap.mine, sums,
              at::kFloat, add);
    tag += kTagsPerSwap;
  }
  for (const Swap& swap : plan.handed)
    swap_rows(group, static_cast<int>(swap.peer), kHandedTag, plan, plan.pieces(swap), swap.theirs, swap.mine, sums,
              at::kFloat, copy_from_buffer);
}

GradientExchange::Slice GradientExchange::slice_of(const ExchangePlan& plan, std::int64_t index) {
  Slice slice{.from = index * plan.slice, .to = (index + 1) * plan.slice};
  slice.length = length_in(plan.owners[plan.me], slice.from, slice.to);
  for (std::size_t rank = 0; rank < plan.owners.size(); ++rank) {
    slice.of_owners.push_back(length_in(plan.owners[rank], slice.from, slice.to) * plan.gives[rank].count);
    slice.of_mine.push_back(slice.length * plan.takes[rank]);
  }
  return slice;
}

template <typename Fill>
at::Tensor GradientExchange::exchange_slice(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                                            const Splits& out_splits, const Splits& in_splits, at::ScalarType type,
                                            const Fill& fill) {
  device().keep_pace(kLaunchesOfPiece);
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

void GradientExchange::sum_by_slices(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                                     const std::vector<Slots>& partials) {
  for (std::int64_t index = 0; index < plan.slices(); ++index) {
    const Slice slice = slice_of(plan, index);
    // Rows by owner, then node; they arrive by rank, then node.
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

void GradientExchange::copy_by_slices(const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type) {
  for (std::int64_t index = 0; index < plan.slices(); ++index) {
    const Slice slice = slice_of(plan, index);
    const auto fill = [&](const at::Tensor& in) {
      for (std::int64_t at = 0; at < in.numel(); at += slice.length)
        for_parts(plan.owners[plan.me], slice.from, slice.to, weights_, in.narrow(0, at, slice.length), copy_to_buffer);
    };
    const at::Tensor out = exchange_slice(*world_.dp, plan, tag + static_cast<std::uint64_t>(index) % kTagsOfSlices,
                                          slice.of_owners, slice.of_mine, type, fill);
    std::int64_t at = 0;
    for (std::size_t rank = 0; rank < plan.owners.size(); ++rank) {
      const std::int64_t length = slice.of_owners[rank];
      if (length == 0) continue;
      for_parts(plan.owners[rank], slice.from, slice.to, weights_, out.narrow(0, at, length), copy_from_buffer);
      at += length;
    }
  }
}

// Both sides have the same block, and with it as many nodes.
void GradientExchange::move_tied_sums(std::span<TreeSum> sums) {
  if (exchange_.sends_tied) {
    std::uint64_t tag = kTiedGradientTag;
    for (const at::Tensor& node : sums.back().finish()) world_.pp->send(node.view(-1), first_rank(), tag++)->wait();
  }
  if (!exchange_.receives_tied) return;
  for (std::size_t node = 0; node < partials_.size(); ++node) {
    at::Tensor received = at::empty_like(partials_[node][slot_of_.at(exchange_.parameters.back())]);
    world_.pp->recv(received, last_rank(), kTiedGradientTag + node)->wait();
    partials_[node].back() = std::move(received);
  }
}

at::Tensor GradientExchange::piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const {
  const ckpt::LeafGrid grid = plan_.parameters[piece.parameter].grid(plan_.leaf_elements);
  const auto begin = static_cast<std::int64_t>(grid.begin(piece.leaves.first));
  return flat.narrow(0, begin, static_cast<std::int64_t>(grid.begin(piece.leaves.end())) - begin);
}

/// Of a tied head that is summed on this stage.
std::optional<std::size_t> GradientExchange::tied_slot() const {
  if (exchange_.parameters.size() == slot_of_.size()) return std::nullopt;
  return slot_of_.size();
}

/// `whole`: a slot is the whole parameter, else what this rank owns of it.
std::vector<OwnedGradient> GradientExchange::owned_of(const Slots& sums, bool whole) const {
  std::vector<OwnedGradient> gradients;
  for (const ckpt::OwnedPiece& piece : pieces_) {
    const auto part_of = [&](std::size_t slot) { return whole ? piece_of(piece, sums[slot]) : sums[slot]; };
    at::Tensor grad = part_of(slot_of_.at(piece.parameter));
    // The one addition of a tied head's tree to its embedding's, at every PP degree.
    const std::optional<std::size_t> head = tied_slot();
    if (head && exchange_.parameters[*head] == piece.parameter) grad.add_(part_of(*head));
    gradients.push_back({piece, is_64_byte_aligned(grad) ? grad : grad.clone()});
  }
  return gradients;
}

void GradientExchange::take_turn(std::size_t turn, std::uint32_t local, std::span<TreeSum> sums) {
  Slots slots;  // of the stage; those of other parts stay undefined
  if (!sums.empty()) {
    slots.resize(sums.size());
    for (const std::uint32_t slot : exchange_.turns[turn].slots)
      slots[slot] = sums[slot].take(share_.at(local)).view(-1);
  }
  // Few parts are on their way at once: their gradients are there in full.
  if (lane_ && lane_->given() >= kTurnsUnderWay) lane_->wait(lane_->given() - kTurnsUnderWay + 1);
  ShardedSums& sharded = sharded_[turn];
  run([&sharded, local, slots = std::move(slots)] { sharded.add(local, slots); });
}

void GradientExchange::collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  const at::NoGradGuard no_grad;
  StageTurns& turns = turns_of_.at(stage);
  while (turns.left > 0) take_turn(turns.first + --turns.left, local, sums);
  turns.left = turns.end - turns.first;
}

// The sums of all stages, and those of a tied head brought to its embedding.
GradientExchange::Slots GradientExchange::finish_turns() {
  if (lane_) lane_->wait_all();
  std::vector<Slots> rows;  // by node, then turn
  for (ShardedSums& turn : sharded_) {
    std::vector<at::Tensor> nodes = turn.finish();
    rows.resize(nodes.size());
    for (std::size_t node = 0; node < nodes.size(); ++node) rows[node].push_back(std::move(nodes[node]));
  }
  sum_over_ranks(exchange_.between_domains, kSumTags, rows);
  Slots sums(stages_.parameters().size());
  for (std::size_t turn = 0; turn < sharded_.size(); ++turn) {
    const StageExchange::Turns& turns = exchange_.turns[turn];
    const std::size_t first = first_slot_.at(stages_.stages()[turns.chunk]->index());
    std::int64_t at = turns.begin;
    for (const Segment& segment : turns.own.segments()) {
      sums[first + segment.slot] = rows.front()[turn].narrow(0, at, segment.length).clone();
      at += segment.length;
    }
  }
  if (exchange_.sends_tied && sums.back().defined())
    world_.pp->send(sums.back(), first_rank(), kTiedGradientTag)->wait();
  if (exchange_.receives_tied) {
    const at::Tensor own = sums[slot_of_.at(exchange_.parameters.back())];
    sums.emplace_back();
    if (own.defined()) {
      sums.back() = at::empty_like(own);
      world_.pp->recv(sums.back(), last_rank(), kTiedGradientTag)->wait();
    }
  }
  return sums;
}

void GradientExchange::run(Lane::Work work) {
  if (!lane_) return work();
  lane_->give([work = std::move(work)] {
    const at::NoGradGuard no_grad;
    work();
  });
}

bool GradientExchange::is_whole(std::size_t part, std::span<const TreeSum> sums) const {
  const std::vector<std::uint32_t>& slots = exchange_.parts[part].slots;
  // The sums of a tied head come from another rank, when it has all of them.
  if (exchange_.receives_tied && slots.back() == sums.size()) return false;
  return std::ranges::all_of(slots, [&](std::uint32_t slot) { return sums[slot].complete(); });
}

void GradientExchange::take(std::uint32_t slot, std::span<TreeSum> sums) {
  const std::vector<at::Tensor> nodes = sums[slot].finish();
  partials_.resize(nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    partials_[node].resize(exchange_.parameters.size());
    partials_[node][slot] = nodes[node].view(-1);
  }
}

void GradientExchange::sum_part(std::size_t part) {
  run([this, part] { sum_over_ranks(exchange_.parts[part].sums, kSumTags + part * kTagsOfPart, partials_); });
}

void GradientExchange::begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  if (!lane_) return;
  const at::NoGradGuard no_grad;
  if (in_turns()) {
    StageTurns& turns = turns_of_.at(stage);
    const std::size_t chunk = exchange_.turns[turns.first].chunk;
    const std::span of_stage = sums.subspan(first_slot_.at(stage), stages_.stages()[chunk]->parameters().size());
    const auto is_there = [&](std::uint32_t slot) { return of_stage[slot].has(share_.at(local)); };
    while (turns.left > 0 && std::ranges::all_of(exchange_.turns[turns.first + turns.left - 1].slots, is_there))
      take_turn(turns.first + --turns.left, local, of_stage);
    return;
  }
  begin_sums(sums);
}

// Every rank of a stage begins the parts in one order, however many micro-batches it has.
void GradientExchange::begin_sums(std::span<TreeSum> sums) {
  while (next_part_ > 0 && is_whole(next_part_ - 1, sums)) {
    --next_part_;
    for (const std::uint32_t slot : exchange_.parts[next_part_].slots) take(slot, sums);
    sum_part(next_part_);
  }
}

std::vector<OwnedGradient> GradientExchange::reduce(std::span<TreeSum> sums) {
  if (sums.size() != stages_.parameters().size())
    throw std::logic_error("an exchange needs one sum per parameter of its stages");
  const at::NoGradGuard no_grad;
  if (in_turns()) return owned_of(finish_turns(), false);
  if (lane_) begin_sums(sums);
  for (std::size_t part = next_part_; part-- > 0;)
    for (const std::uint32_t slot : exchange_.parts[part].slots)
      if (slot < sums.size()) take(slot, sums);
  move_tied_sums(sums);
  while (next_part_ > 0) sum_part(--next_part_);
  if (lane_) lane_->wait_all();
  next_part_ = parts();
  return owned_of(std::exchange(partials_, {}).front(), true);
}

void GradientExchange::move_tied_weight() {
  const at::Tensor& table = exchange_.sends_tied ? weights_.back() : weights_.front();
  const std::int64_t piece = exchange_.tied_piece;
  std::uint64_t tag = kTiedWeightTags;
  for (std::int64_t from = 0; from < table.numel(); from += piece, ++tag) {
    at::Tensor elements = table.narrow(0, from, std::min(piece, table.numel() - from));
    if (exchange_.sends_tied) {
      world_.pp->recv(elements, first_rank(), tag)->wait();
    } else {
      if (plan_.bf16) elements = buffer(0, elements.numel(), at::kBFloat16).copy_(elements);
      world_.pp->send(elements, last_rank(), tag)->wait();
    }
  }
}

void GradientExchange::share(std::span<const at::Tensor> owned) {
  if (owned.size() != pieces_.size()) throw std::logic_error("an exchange needs one weight per piece that is owned");
  for (std::size_t part = 0; part < parts(); ++part) {
    const auto [first, end] = pieces_of(part);
    share(part, owned.subspan(first, end - first));
  }
}

void GradientExchange::share(std::size_t part, std::span<const at::Tensor> owned) {
  const auto [first, end] = pieces_of(part);
  if (owned.size() != end - first) throw std::logic_error("an exchange needs one weight per piece that is owned");
  const at::NoGradGuard no_grad;
  for (std::size_t i = first; i < end; ++i) {
    const at::Tensor target = piece_of(pieces_[i], weights_[slot_of_.at(pieces_[i].parameter)]);
    if (address_of(target) != address_of(owned[i - first])) target.copy_(owned[i - first]);
  }
  run([this, part] { share_part(part); });
  if (lane_) shared_[part] = lane_->given();
  if (part + 1 < parts()) return;
  if (exchange_.sends_tied || exchange_.receives_tied) {
    await_weights();  // the executor's transfers are in the same group
    move_tied_weight();
  }
}

void GradientExchange::share_part(std::size_t part) {
  std::uint64_t tag = kCopyTags + part * kTagsOfPart;
  for (const StageExchange::Sharing& sharing : exchange_.parts[part].sharings) {
    const at::ScalarType type = sharing.width == 4 ? at::kFloat : at::kBFloat16;
    const ExchangePlan& plan = sharing.plan;
    for (const Swap& swap : plan.handed)
      swap_rows(*world_.dp, static_cast<int>(swap.peer), kHandedTag, plan, plan.pieces(swap), swap.mine, swap.theirs,
                weights_, type, copy_from_buffer);
    for (auto swap = plan.swaps.rbegin(); swap != plan.swaps.rend(); ++swap) {
      swap_rows(*world_.dp, static_cast<int>(swap->peer), tag, plan, plan.pieces(*swap), swap->mine, swap->theirs,
                weights_, type, copy_from_buffer);
      tag += kTagsPerSwap;
    }
    if (!plan.owners.empty()) copy_by_slices(plan, kWeightSliceTags, type);
  }
  // A head beside its embedding: in fp32 they are one tensor.
  if (const StageParameter& head = *stages_.parameters().back(); !exchange_.sends_tied && head.tied_head &&
                                                                 (plan_.bf16 || plan_.chunks > 1) &&
                                                                 exchange_.part_of[slot_of_.at(head.index)] == part)
    weights_.back().copy_(weights_[slot_of_.at(head.index)]);
}

void GradientExchange::await_weights(std::uint32_t stage, std::size_t place) {
  if (lane_) lane_->wait(shared_[exchange_.part_of[first_slot_.at(stage) + place]]);
}

void GradientExchange::await_shared() {
  if (lane_) lane_->wait(shared_.back());
}

void GradientExchange::await_weights() {
  if (lane_) lane_->wait_all();
}

}  // namespace titan::train
