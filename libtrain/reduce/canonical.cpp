#include "libtrain/reduce/canonical.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace titan::train {
namespace {

// Slots are exchanged in groups of about this size, which bounds the buffers and does not change bits.
constexpr std::int64_t kBucketElements = std::int64_t{1} << 22;

// Elements of one parameter that a rank owns: [begin, begin + length).
struct Span {
  std::int64_t begin = 0, length = 0;
};

// What each DP rank of a stage owns.
class StageSpans {
 public:
  StageSpans(const World& world, const recipe::RunPlan& plan, const ckpt::Ownership& ownership)
      : plan_(plan), ownership_(ownership), first_(static_cast<std::uint32_t>(world.stage) * plan.mesh.dp) {}

  std::span<const ckpt::OwnedPiece> pieces(std::uint32_t dp_rank) const { return ownership_.of(first_ + dp_rank); }
  Span span(std::uint32_t dp_rank, std::uint32_t parameter) const {
    const auto owned = pieces(dp_rank);
    const auto found = std::ranges::lower_bound(owned, parameter, {}, &ckpt::OwnedPiece::parameter);
    if (found == owned.end() || found->parameter != parameter) return {};
    const ckpt::LeafGrid grid = plan_.parameters[parameter].grid(ownership_.leaf_elements());
    const auto begin = static_cast<std::int64_t>(grid.begin(found->leaves.first));
    return {begin, static_cast<std::int64_t>(grid.begin(found->leaves.end())) - begin};
  }

 private:
  const recipe::RunPlan& plan_;
  const ckpt::Ownership& ownership_;
  std::uint32_t first_;
};

struct Slot {
  std::uint32_t parameter = 0;
  std::vector<at::Tensor> partials;  // of the rank's maximal nodes, 1-D
  at::Tensor root;                   // of the owned span, after the reduction; undefined when nothing is owned
};

std::int64_t elements_of(const recipe::RunPlan& plan, std::uint32_t parameter) {
  return static_cast<std::int64_t>(ckpt::element_count(plan.parameters[parameter].shape));
}

std::vector<Node> rank_nodes(const recipe::RunPlan& plan, std::uint32_t dp_rank) {
  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  return maximal_nodes(count, dp_block(count, plan.mesh.dp, dp_rank));
}

// Calls f(first, end) for groups of consecutive parameters of about kBucketElements.
template <typename Size, typename F>
void for_buckets(std::size_t count, const Size& size, const F& f) {
  for (std::size_t first = 0, end = 0; first < count; first = end) {
    std::int64_t elements = 0;
    do elements += size(end++);
    while (end < count && elements + size(end) <= kBucketElements);
    f(first, end);
  }
}

// The sum of `node`, from the nodes that the ranks sent; adds into their storage below the root.
at::Tensor combine(const std::map<Node, at::Tensor>& sent, Node node) {
  if (const auto found = sent.find(node); found != sent.end()) return found->second;
  return combine(sent, node.left()).add_(combine(sent, node.right()));
}

// With several ranks none of them has sent the root itself.
at::Tensor combine_root(const std::map<Node, at::Tensor>& sent, Node root) {
  // A tensor of its own: 64-byte aligned, and the exchange buffer can go.
  return at::add(combine(sent, root.left()), combine(sent, root.right()));
}

void reduce_bucket(World& world, const recipe::RunPlan& plan, const StageSpans& ownership, std::span<Slot> slots) {
  const std::uint32_t ranks = plan.mesh.dp;
  const auto me = static_cast<std::uint32_t>(world.dp_rank);
  const auto owned = [&](std::uint32_t rank) {
    std::int64_t sum = 0;
    for (const Slot& slot : slots) sum += ownership.span(rank, slot.parameter).length;
    return sum;
  };
  std::vector<std::vector<Node>> nodes(ranks);
  std::vector<std::int64_t> in_splits(ranks), out_splits(ranks);
  std::int64_t in_total = 0, out_total = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) nodes[r] = rank_nodes(plan, r);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    in_total += in_splits[r] = owned(r) * static_cast<std::int64_t>(nodes[me].size());
    out_total += out_splits[r] = owned(me) * static_cast<std::int64_t>(nodes[r].size());
  }

  // Rows by receiver, then slot, then node.
  at::Tensor in = at::empty({in_total}, at::kFloat), out = at::empty({out_total}, at::kFloat);
  std::int64_t at = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (const Slot& slot : slots) {
      const Span span = ownership.span(r, slot.parameter);
      for (const at::Tensor& partial : slot.partials) {
        in.narrow(0, at, span.length).copy_(partial.narrow(0, span.begin, span.length));
        at += span.length;
      }
    }
  }
  for (Slot& slot : slots) slot.partials.clear();
  world.dp->all_to_all(out, out_splits, in, in_splits);

  std::vector<std::int64_t> cursor(ranks);
  for (std::uint32_t r = 1; r < ranks; ++r) cursor[r] = cursor[r - 1] + out_splits[r - 1];
  for (Slot& slot : slots) {
    const std::int64_t length = ownership.span(me, slot.parameter).length;
    if (length == 0) continue;
    std::map<Node, at::Tensor> sent;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (const Node node : nodes[r]) {
        sent[node] = out.narrow(0, cursor[r], length);
        cursor[r] += length;
      }
    }
    slot.root = combine_root(sent, {0, static_cast<std::uint32_t>(plan.batch.count)});
  }
}

bool is_64_byte_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64 == 0;
}

// Sends the head's slot of a tied embedding from the last stage to stage 0. \return the transfer to wait for, on the
// last stage.
struct TiedSend {
  at::Tensor buffer;
  std::unique_ptr<Transfer> transfer;
};
TiedSend move_tied_slot(World& world, const recipe::RunPlan& plan, const Stage& stage, std::vector<Slot>& slots) {
  TiedSend send;
  if (!plan.dims.tied || stage.spec().embedding == stage.spec().head) return send;
  if (stage.spec().head) {
    send.buffer = at::cat(slots.back().partials);
    slots.pop_back();
    send.transfer = world.pp->send(send.buffer, 0, kTiedGradientTag);
  } else {
    const std::uint32_t embedding = stage.parameters().front().index;
    const std::int64_t elements = elements_of(plan, embedding);
    const auto nodes = static_cast<std::int64_t>(rank_nodes(plan, world.dp_rank).size());
    at::Tensor buffer = at::empty({nodes * elements}, at::kFloat);
    world.pp->recv(buffer, static_cast<int>(plan.mesh.pp) - 1, kTiedGradientTag)->wait();
    Slot& slot = slots.emplace_back(Slot{.parameter = embedding});
    for (std::int64_t i = 0; i < nodes; ++i) slot.partials.push_back(buffer.narrow(0, i * elements, elements));
  }
  return send;
}

}  // namespace

void TreeSum::insert(std::uint32_t micro_batch, at::Tensor grad) {
  Node node{micro_batch, micro_batch + 1};
  if (!block_.contains(node))
    throw std::logic_error("micro-batch " + std::to_string(micro_batch) + " is not of this rank's block");
  if (!nodes_.empty()) {
    const auto next = nodes_.upper_bound({micro_batch, count_ + 1});
    if (next != nodes_.begin() && std::prev(next)->first.contains(node))
      throw std::logic_error("micro-batch " + std::to_string(micro_batch) + " was inserted twice");
  }
  at::Tensor sum = grad.detach().to(at::kFloat).contiguous();
  grad.reset();
  // Autograd may hand out one tensor as the gradient of two inputs, or keep it; sums are added up in place.
  if (sum.storage().use_count() > 1) sum = sum.clone();
  for (Node above = parent(count_, node); above != node && block_.contains(above); above = parent(count_, node)) {
    const bool is_left = node == above.left();
    const auto sibling = nodes_.find(is_left ? above.right() : above.left());
    if (sibling == nodes_.end()) break;
    sum = is_left ? sum.add_(sibling->second) : sibling->second.add_(sum);
    nodes_.erase(sibling);
    node = above;
  }
  nodes_.emplace(node, std::move(sum));
}

std::vector<at::Tensor> TreeSum::finish() {
  std::vector<at::Tensor> partials;
  for (const Node node : maximal_nodes(count_, block_)) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end())
      throw std::logic_error("no sum for micro-batches [" + std::to_string(node.lo) + ", " + std::to_string(node.hi) +
                             "): one is missing");
    partials.push_back(std::move(found->second));
  }
  nodes_.clear();
  return partials;
}

std::vector<OwnedGradient> reduce_gradients(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                            Stage& stage, std::vector<TreeSum>& sums) {
  if (sums.size() != stage.parameters().size())
    throw std::logic_error("reduce_gradients needs one sum per parameter of the stage");
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Slot& slot = slots.emplace_back(Slot{.parameter = stage.parameters()[i].index});
    for (const at::Tensor& partial : sums[i].finish()) slot.partials.push_back(partial.view(-1));
  }
  const TiedSend send = move_tied_slot(world, plan, stage, slots);

  const StageSpans ownership(world, plan, owners);
  if (plan.mesh.dp == 1) {
    for (Slot& slot : slots) {
      slot.root = std::move(slot.partials.front());
      slot.partials.clear();
      if (!is_64_byte_aligned(slot.root)) slot.root = slot.root.clone();
    }
  } else {
    // Ranks may have different numbers of nodes; the groups must be the same everywhere.
    std::size_t most_nodes = 0;
    for (std::uint32_t r = 0; r < plan.mesh.dp; ++r) most_nodes = std::max(most_nodes, rank_nodes(plan, r).size());
    const auto size = [&](std::size_t i) {
      return elements_of(plan, slots[i].parameter) * static_cast<std::int64_t>(most_nodes);
    };
    for_buckets(slots.size(), size, [&](std::size_t first, std::size_t end) {
      reduce_bucket(world, plan, ownership, std::span(slots).subspan(first, end - first));
    });
  }
  if (send.transfer) send.transfer->wait();

  std::map<std::uint32_t, at::Tensor> roots;
  for (Slot& slot : slots) {
    if (!slot.root.defined()) continue;
    // A tied head's slot comes after its embedding's: the one addition of the two trees, at every PP degree.
    const auto [root, fresh] = roots.emplace(slot.parameter, slot.root);
    if (!fresh) root->second.add_(slot.root);
  }
  std::vector<OwnedGradient> gradients;
  for (const ckpt::OwnedPiece& piece : ownership.pieces(static_cast<std::uint32_t>(world.dp_rank)))
    gradients.push_back({piece, roots.at(piece.parameter)});
  return gradients;
}

void share_weights(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, Stage& stage) {
  const at::NoGradGuard no_grad;
  std::vector<StageParameter*> owned;
  for (StageParameter& p : stage.parameters())
    if (!p.tied_head) owned.push_back(&p);

  if (plan.mesh.dp > 1) {
    const StageSpans ownership(world, plan, owners);
    for_buckets(
        owned.size(), [&](std::size_t i) { return owned[i]->master.numel(); },
        [&](std::size_t first, std::size_t end) {
          std::vector<at::Tensor> mine;
          std::vector<std::int64_t> out_splits(plan.mesh.dp);
          std::int64_t out_total = 0;
          const auto piece = [&](std::uint32_t rank, std::size_t i) {
            const Span span = ownership.span(rank, owned[i]->index);
            return owned[i]->master.view(-1).narrow(0, span.begin, span.length);
          };
          for (std::size_t i = first; i < end; ++i) mine.push_back(piece(world.dp_rank, i));
          for (std::uint32_t r = 0; r < plan.mesh.dp; ++r) {
            for (std::size_t i = first; i < end; ++i) out_splits[r] += ownership.span(r, owned[i]->index).length;
            out_total += out_splits[r];
          }
          const std::vector<std::int64_t> in_splits(plan.mesh.dp, out_splits[world.dp_rank]);
          const at::Tensor in = at::cat(mine).repeat({static_cast<std::int64_t>(plan.mesh.dp)});
          at::Tensor out = at::empty({out_total}, at::kFloat);
          world.dp->all_to_all(out, out_splits, in, in_splits);
          std::int64_t at = 0;
          for (std::uint32_t r = 0; r < plan.mesh.dp; ++r) {
            for (std::size_t i = first; i < end; ++i) {
              at::Tensor target = piece(r, i);
              target.copy_(out.narrow(0, at, target.numel()));
              at += target.numel();
            }
          }
        });
  }

  if (plan.dims.tied && plan.mesh.pp > 1 && stage.spec().embedding)
    world.pp->send(stage.parameters().front().master, static_cast<int>(plan.mesh.pp) - 1, kTiedWeightTag)->wait();
  if (plan.dims.tied && plan.mesh.pp > 1 && stage.spec().head)
    world.pp->recv(stage.parameters().back().master, 0, kTiedWeightTag)->wait();
  stage.refresh();
}

}  // namespace titan::train
