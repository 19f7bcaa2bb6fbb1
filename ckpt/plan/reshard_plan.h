#pragma once
// From a checkpoint's manifest and another layout to the shard files of the new checkpoint and where each of their
// leaves comes from. Pure: no file is touched.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/plan/placement.h"

namespace titan::ckpt {

inline constexpr std::uint32_t kMaxRanks = 65'536;

struct ReshardTarget {
  std::optional<std::uint32_t> dp, pp;  ///< nullopt: as it is; without `pp` and `stages` the stages stay where they are
  std::string stages;  ///< layout of stage_layout.h, its stages dealt out to the pp ranks; empty: the exact partition
  std::optional<Codec> codec;  ///< nullopt: every leaf keeps its form
  std::optional<Placement>
      placement;  ///< several stages a rank: two, or those of `stages`; nullopt: a loop of `stages`
};

/// Consecutive leaves of one source piece that stay together.
struct LeafMove {
  std::uint32_t file = 0;  ///< index into the source's files
  std::uint64_t row = 0;   ///< of the first leaf in that file's table
  LeafRange leaves;
  Codec codec = Codec::kRaw;  ///< of the source
  bool operator==(const LeafMove&) const = default;
};

/// One dataset of a new shard.
struct ReshardPiece {
  TensorRef ref;
  ShardPiece shard;             ///< `stored` is left empty
  std::uint64_t row = 0;        ///< of the first leaf in the new table
  std::vector<LeafMove> moves;  ///< ascending; cover the piece
};

struct ReshardFile {
  std::string path;
  std::vector<ReshardPiece> pieces;
  std::uint64_t leaves = 0;
  std::uint64_t bytes = 0;      ///< raw
  std::uint64_t to_encode = 0;  ///< leaves
};

struct ReshardPlan {
  Mesh mesh;
  std::uint32_t layers = 0;               ///< 0 where the names are not those of a Llama-style model
  std::vector<std::uint32_t> stage_cuts;  ///< of all stages of the layout
  std::vector<std::uint32_t> stages;      ///< per parameter: the pipeline rank that holds it
  std::vector<ReshardFile> files;         ///< model by rank, then optimizer by rank; a rank that owns nothing has none
  std::uint64_t leaves = 0, bytes = 0;    ///< to move; raw bytes
  std::uint64_t ranges = 0;               ///< LeafMoves
  std::uint64_t to_encode = 0, to_decode = 0;  ///< leaves whose codec changes
};

/// Plans the new files.
/// \error kIncompatible: more stages than the model has parts (naming the largest feasible degree) or more than
/// kMaxRanks ranks;
/// kInvalid: a degree of 0, a layout that does not fit; kUnsupported: tensor parallelism
Result<ReshardPlan> plan_reshard(const Manifest& source, const ReshardTarget& target);

/// How a plan is carried out within a bound of memory.
struct MovePlan {
  std::uint32_t threads = 1;
  std::uint64_t buffer_bytes = 0;   ///< per thread, for stored bytes; any leaf fits
  std::uint64_t coder_bytes = 0;    ///< per thread, for leaves that change their codec
  std::vector<std::size_t> groups;  ///< files that are open together: index of the first of each group
  std::uint64_t memory = 0;         ///< bound of buffers and tables, in bytes
};

/// \error kInvalid when `limit` bytes are too few, saying how many are needed.
Result<MovePlan> plan_moves(const Manifest& source, const ReshardPlan& plan, std::uint64_t limit, unsigned threads = 0);

}  // namespace titan::ckpt
