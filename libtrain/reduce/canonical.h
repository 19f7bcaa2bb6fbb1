#pragma once
// Canonical gradient sums over micro-batches and ranks, as tensors.
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ckpt/plan/ownership.h"
#include "libtrain/model/stage.h"
#include "libtrain/parallel/communicator.h"
#include "libtrain/reduce/tree.h"

namespace titan::train {

/// Tags of transfers over `World::pp` that this file makes; the pipeline executor uses others.
inline constexpr std::uint64_t kTiedGradientTag = 0x7ffffff0;
inline constexpr std::uint64_t kTiedWeightTag = 0x7ffffff1;

/// Merges the gradients of one slot as micro-batches finish, in any order: insert() converts to fp32 and merges upward
/// while the sibling is present.
class TreeSum {
 public:
  TreeSum(std::uint32_t count, Node block) : count_(count), block_(block) {}
  /// `grad` is consumed (its storage may be reused for sums). A micro-batch that is outside of the block or was
  /// inserted before is an std::logic_error.
  void insert(std::uint32_t micro_batch, at::Tensor grad);
  /// The partial sums of the block's maximal nodes, in order; leaves the object empty.
  /// Every micro-batch of the block must have been inserted, else std::logic_error.
  std::vector<at::Tensor> finish();
  /// Sums held at present.
  std::size_t held() const { return nodes_.size(); }

 private:
  std::uint32_t count_;
  Node block_;
  std::map<Node, at::Tensor> nodes_;
};

/// The gradient of one owned piece (fp32, 1-D, 64-byte aligned), summed over all M micro-batches; for a tied embedding
/// the head's tree root has been added.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

/// Sums each slot of a stage over the DP ranks and returns the pieces that this rank owns.
///
/// `sums` has one TreeSum per entry of stage.parameters(), all complete; with a tied head on the same stage its slot is
/// among them. With the head on another stage, that stage's ranks first send its partial nodes to stage 0's rank of the
/// same dp_rank over `world.pp`; both sides call this function. The wire carries fp32 only.
std::vector<OwnedGradient> reduce_gradients(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                            Stage& stage, std::vector<TreeSum>& sums);

/// Sends every rank's updated pieces of the stage's masters to all DP ranks of the stage, then the tied embedding to
/// the last stage, then renews the compute copies.
void share_weights(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, Stage& stage);

}  // namespace titan::train
