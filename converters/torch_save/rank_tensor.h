#pragma once
// Tensors that ranks saved with torch.save, each with its own part: DTensor of FSDP2, ShardedTensor of FSDP1.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "converters/torch_save/pieces.h"
#include "converters/torch_save/torch_file.h"

namespace titan::convert {

/// What the file of one rank holds of a tensor.
struct RankPart {
  enum class Kind : std::uint8_t {
    kWhole,   ///< all of it
    kInTurn,  ///< the parts of the ranks follow each other along dimension `cut`
    kPlaced,  ///< it begins at `offsets`
    kNone,    ///< nothing
  };
  Kind kind = Kind::kWhole;
  StoredTensor stored;               ///< what is there
  std::vector<std::uint64_t> shape;  ///< of the whole tensor
  std::size_t cut = 0;
  std::optional<std::uint64_t> turn;  ///< kInTurn: the number of this part among them, where its mesh says it
  std::vector<std::uint64_t> offsets;
};

/// The part that `node` makes. \error kCorrupt: it is no tensor; kUnsupported: sharded otherwise than along one
/// dimension of one mesh dimension, the last one
ckpt::Result<RankPart> rank_part(const TorchFile& file, dcp::NodeId node);

/// A rank's file, by its number in PieceFiles, and what it holds.
using RankParts = std::vector<std::pair<std::uint32_t, RankPart>>;
/// The tensor `name` of its parts, in the order of the ranks. Ranks that hold the same (replicas) count once.
/// \error kCorrupt: they do not agree, or do not fill it; kUnsupported: a type that a checkpoint of ours cannot hold
ckpt::Result<PiecedTensor> joined_parts(const std::string& name, const RankParts& parts);

}  // namespace titan::convert
