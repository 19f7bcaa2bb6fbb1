#pragma once
// Which rank owns which leaves. The leaves of a pipeline rank, in parameter order, are cut into one contiguous range
// per data-parallel rank. If parameters are in groups, the leaves of each group are cut separately. This is ZeRO-1's
// split of the optimizer state: the owner of a leaf updates it and writes it. Pure. Works on runs of leaves of equal
// size, never on single leaves, because a large model has millions. ParameterMeta::stage is here the pipeline rank,
// which may hold several stages of the model.
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Consecutive leaves of one parameter.
struct OwnedPiece {
  std::uint32_t parameter = 0;
  LeafRange leaves;
  bool operator==(const OwnedPiece&) const = default;
};

/// What every rank of a mesh owns: one contiguous range of leaves per group, possibly empty. The cut minimises the
/// largest number of elements of a range; ranges are then filled up to that number, from the first rank on. The
/// constructor computes the ranges of all ranks.
class Ownership {
 public:
  /// `groups` has the group number of each parameter; the leaves of each group are cut among the ranks separately.
  /// Empty: one group.
  Ownership(const std::vector<ParameterMeta>& parameters, std::uint64_t leaf_elements, const Mesh& mesh,
            std::span<const std::uint32_t> groups = {});

  /// The pieces of global rank `rank` (pipeline rank * dp + dp_rank) in parameter order, at most one per parameter;
  /// empty if the mesh has no such rank.
  std::span<const OwnedPiece> of(std::uint32_t rank) const;
  std::uint64_t leaf_elements() const { return leaf_elements_; }
  const Mesh& mesh() const { return mesh_; }

 private:
  std::uint64_t leaf_elements_;
  Mesh mesh_;
  std::vector<OwnedPiece> pieces_;  // pieces of all ranks, rank by rank
  std::vector<std::size_t> first_;  // index of each rank's first piece, then the total number of pieces
};

/// A measure of work: how many runs of leaves and ranges all constructors of Ownership in this process have visited.
std::uint64_t partition_work();

}  // namespace titan::ckpt
