#include "libtrain/engine/exchange/gradient_exchange.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <stdexcept>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

bool is_64_byte_aligned(const at::Tensor& tensor) { return address_of(tensor) % 64 == 0; }

/// The summand of a tied head that is summed on this stage.
std::optional<std::size_t> tied_summand(const ExchangeSetup& setup) {
  if (setup.exchange.parameters.size() == setup.summand_of.size()) return std::nullopt;
  return setup.summand_of.size();
}

}  // namespace

GradientExchange::GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                   const RankStages& stages)
    : setup_(world, plan, owners, stages),
      sums_(setup_.exchange.turns.empty() ? make_late_sums(setup_) : make_micro_batch_sums(setup_)),
      copies_(setup_) {
  const auto owned = owners.of(static_cast<std::uint32_t>(world.rank));
  pieces_.assign(owned.begin(), owned.end());
  for (std::size_t part = 0, piece = 0; part < parts(); ++part) {
    const std::size_t first = piece;
    while (piece < pieces_.size() && setup_.exchange.part_of[setup_.summand_of.at(pieces_[piece].parameter)] == part)
      ++piece;
    part_pieces_.emplace_back(first, piece);
  }
  if (parts() > 1 && plan.exchange_parts > 1) lane_ = device().make_lane();
  setup_.lane = lane_.get();
}

void GradientExchange::connect() {
  const bool nodes = has_node_groups(setup_.plan);
  const GroupPeers peers = group_peers(setup_.exchange, nodes);
  setup_.world.dp->expect(peers.stage);
  if (!nodes) return;
  setup_.world.node->expect(peers.node);
  setup_.world.between_nodes->expect(peers.between_nodes);
}

at::Tensor GradientExchange::piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const {
  const ckpt::LeafGrid grid = setup_.plan.parameters[piece.parameter].grid(setup_.plan.leaf_elements);
  const auto begin = static_cast<std::int64_t>(grid.begin(piece.leaves.first));
  return flat.narrow(0, begin, static_cast<std::int64_t>(grid.begin(piece.leaves.end())) - begin);
}

void GradientExchange::collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  const at::NoGradGuard no_grad;
  sums_->collect(stage, local, sums);
}

void GradientExchange::begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  const at::NoGradGuard no_grad;
  if (lane_) sums_->begin(stage, local, sums);
}

std::vector<OwnedGradient> GradientExchange::reduce(std::span<TreeSum> sums) {
  if (sums.size() != setup_.summands()) throw std::logic_error("an exchange needs one sum per parameter of its stages");
  const at::NoGradGuard no_grad;
  const Summands summed = sums_->finish(sums);
  const std::optional<std::size_t> head = tied_summand(setup_);
  std::vector<OwnedGradient> gradients;
  for (const ckpt::OwnedPiece& piece : pieces_) {
    const auto part_of = [&](std::size_t summand) {
      return sums_->whole() ? piece_of(piece, summed[summand]) : summed[summand];
    };
    at::Tensor grad = part_of(setup_.summand_of.at(piece.parameter));
    // The single addition of a tied head's sum to its embedding's, at every PP degree.
    if (head && setup_.exchange.parameters[*head] == piece.parameter) grad.add_(part_of(*head));
    gradients.push_back({piece, is_64_byte_aligned(grad) ? grad : grad.clone()});
  }
  return gradients;
}

void GradientExchange::send_weights(std::span<const at::Tensor> owned) {
  if (owned.size() != pieces_.size()) throw std::logic_error("an exchange needs one weight per piece that is owned");
  for (std::size_t part = 0; part < parts(); ++part) {
    const auto [first, end] = pieces_of(part);
    send_weights(part, owned.subspan(first, end - first));
  }
}

void GradientExchange::send_weights(std::size_t part, std::span<const at::Tensor> owned) {
  const auto [first, end] = pieces_of(part);
  if (owned.size() != end - first) throw std::logic_error("an exchange needs one weight per piece that is owned");
  const at::NoGradGuard no_grad;
  for (std::size_t i = first; i < end; ++i) {
    const at::Tensor target = piece_of(pieces_[i], copies_.copy_of(pieces_[i].parameter));
    if (address_of(target) != address_of(owned[i - first])) target.copy_(owned[i - first]);
  }
  copies_.send(part);
}

void GradientExchange::await_weights() const {
  if (lane_) lane_->wait_all();
}

}  // namespace titan::train
