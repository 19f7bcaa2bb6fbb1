#pragma once
// Moves stored leaves from the shards of one checkpoint into new shards: in the order of the source, by positioned
// reads of several MiB, on several threads, each leaf checked on the way. A leaf is decoded only where its codec
// changes.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ckpt/plan/reshard_plan.h"
#include "ckpt/read/shard_reader.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {

/// What a long move calls between reads, from one thread at a time; an error ends the move.
struct MoveHooks {
  std::function<Status()> check;                          ///< asked to stop, or lost a lock
  std::function<void(std::uint64_t raw_bytes)> advanced;  ///< these were moved since the last call
};

struct MoveCounts {
  std::uint64_t leaves = 0, raw_bytes = 0;
  std::uint64_t reads = 0, read_bytes = 0;
  std::uint64_t decoded = 0, encoded = 0;  ///< leaves
};

/// Fills shards of one group of files together.
class LeafMover {
 public:
  LeafMover(Fs& fs, ShardReader& source, const MovePlan& plan, const MoveHooks& hooks)
      : fs_(fs), source_(source), plan_(plan), hooks_(hooks) {}

  /// Writes `files` (none of which has leaves to encode) below `folder` and returns what was written, in the same
  /// order. \error kCorrupt naming the leaf, kFailed, what the hooks return
  Result<std::vector<WrittenShard>> run(const std::string& folder, std::span<const ReshardFile> files,
                                        MoveCounts& counts);

 private:
  Fs& fs_;
  ShardReader& source_;
  const MovePlan& plan_;
  const MoveHooks& hooks_;
};

}  // namespace titan::ckpt
