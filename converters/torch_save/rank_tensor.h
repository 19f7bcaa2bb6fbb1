#pragma once
// Tensors of which each rank saved its part with torch.save: DTensor of FSDP2, ShardedTensor of FSDP1.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converters/torch_save/pieces.h"
#include "converters/torch_save/torch_file.h"

namespace titan::convert {

/// The part of a tensor in one rank's file.
struct RankPart {
  enum class Kind : std::uint8_t {
    kWhole,   ///< the file has the whole tensor
    kByRank,  ///< sharded along dimension `cut`: parts follow each other in the order of ranks
    kPlaced,  ///< the part is a box that begins at `offsets`
    kNone,    ///< the file has no part of the tensor
  };
  Kind kind = Kind::kWhole;
  StoredTensor stored;               ///< location of the stored elements
  std::vector<std::uint64_t> shape;  ///< of the whole tensor
  std::size_t cut = 0;
  std::optional<std::uint64_t> place;  ///< kByRank: the number of this part among the parts, if the mesh records it
  std::vector<std::uint64_t> offsets;
};

/// Reads the part at `node`. \error kCorrupt: it is not a tensor; kUnsupported: a DTensor that is sharded over another
/// dimension of the device mesh than the last, a ShardedTensor with several shards on one rank, or another subclass of
/// tensor
ckpt::Result<RankPart> rank_part(const TorchFile& file, NodeId node);

/// The parts of one tensor, in the order of ranks: the number of the rank's file in PieceFiles, and the part in it.
using RankParts = std::vector<std::pair<std::uint32_t, RankPart>>;
/// Joins the parts of the tensor `name`, in the order of ranks. Equal parts (replicas) count once. \error kCorrupt:
/// parts disagree, or do not fill the tensor; kUnsupported: a type that a Titan checkpoint cannot hold
ckpt::Result<PiecedTensor> joined_parts(const std::string& name, const RankParts& parts);

}  // namespace titan::convert
