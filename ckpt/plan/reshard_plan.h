#pragma once
// Plans a checkpoint for another layout: its shard files, and the source of each of their leaves. Pure: reads no file.
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

/// The layout that the user asked for.
struct ReshardTarget {
  std::optional<std::uint32_t> dp, pp;  ///< nullopt: unchanged. If none of `pp`, `stages` and `placement` is set, the
                                        ///< stages are unchanged, too
  std::string stages;                   ///< stages in the grammar of stage_layout.h; empty: partition_stages()
  std::optional<Codec> codec;           ///< nullopt: every leaf keeps its codec
  /// How the stages are assigned to pipeline ranks. With `stages`: nullopt means kLoop. Without `stages`: nullopt means
  /// one stage per rank, any other value two.
  std::optional<Placement> placement;
};

/// Consecutive leaves of one source piece that are moved together.
struct LeafMove {
  std::uint32_t file = 0;  ///< index into the source's files
  std::uint64_t row = 0;   ///< row of the first leaf in the table of that file
  LeafRange leaves;
  Codec codec = Codec::kRaw;  ///< codec in the source
  bool operator==(const LeafMove&) const = default;
};

/// One dataset of a new shard.
struct ReshardPiece {
  TensorRef ref;
  ShardPiece shard;             ///< without `stored`
  std::uint64_t row = 0;        ///< row of the first leaf in the new table
  std::vector<LeafMove> moves;  ///< ascending; together they cover the whole piece
};

/// One new shard.
struct ReshardFile {
  std::string path;
  std::vector<ReshardPiece> pieces;
  std::uint64_t leaves = 0;
  std::uint64_t bytes = 0;      ///< raw bytes of the leaves
  std::uint64_t to_encode = 0;  ///< number of leaves to encode
};

/// What a reshard moves.
struct ReshardCounts {
  std::uint64_t leaves = 0, bytes = 0;         ///< leaves and raw bytes to move
  std::uint64_t ranges = 0;                    ///< number of LeafMoves: runs of leaves that are moved together
  std::uint64_t to_encode = 0, to_decode = 0;  ///< leaves whose codec changes: to compress, to decompress
};

/// The new layout.
struct ReshardPlan : ReshardCounts {
  Mesh mesh;
  std::uint32_t layers = 0;               ///< 0 if the parameter names are not those of a Llama-style model
  std::vector<std::uint32_t> stage_cuts;  ///< first group of stages 1, 2, ...
  std::vector<std::uint32_t> stages;      ///< per parameter: the pipeline rank that holds it
  std::vector<ReshardFile> files;  ///< model by rank, then optimizer by rank; a rank that owns nothing has no file
};

/// Plans the new files. \error kIncompatible: the model cannot be cut into that many stages (the message or its hint
/// has the largest possible degree), or there are more than kMaxRanks ranks; kInvalid: a degree of 0, a layout that
/// does not fit, or `stages` or `placement` for a model without numbered layers; kUnsupported: tensor parallelism, or
/// an 'm' in `stages`
Result<ReshardPlan> plan_reshard(const Manifest& source, const ReshardTarget& target);

/// How a ReshardPlan is executed with bounded memory.
struct MovePlan {
  std::uint32_t threads = 1;
  std::uint64_t buffer_bytes = 0;   ///< per thread, for stored bytes; fits the largest leaf
  std::uint64_t coder_bytes = 0;    ///< per thread, for leaves whose codec changes
  std::vector<std::size_t> groups;  ///< index of the first file of each group; the files of a group are written at
                                    ///< the same time, group after group
  std::uint64_t memory = 0;         ///< upper bound for buffers and tables, in bytes
};

/// Plans the moves of `plan` with at most `limit` bytes of memory and at most `threads` threads (0: 4). \error
/// kInvalid: `limit` is too small; the message has the number of bytes needed
Result<MovePlan> plan_moves(const Manifest& source, const ReshardPlan& plan, std::uint64_t limit, unsigned threads = 0);

}  // namespace titan::ckpt
