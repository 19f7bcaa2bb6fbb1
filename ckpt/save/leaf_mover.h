#pragma once
// Moves stored leaves from the shards of one checkpoint into new shards on several threads, in the order of the source,
// with positioned reads of several MiB. Checks the digest of each leaf. Decodes a leaf only if its codec changes.
#include <cstdint>
#include <functional>
#include <vector>

#include "ckpt/plan/reshard_plan.h"
#include "ckpt/read/shard_reader.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {

/// Called between reads, from one thread at a time. An error ends the move.
struct MoveHooks {
  std::function<Status()> check;                          ///< not ok if a stop was requested or a lock was lost
  std::function<void(std::uint64_t raw_bytes)> advanced;  ///< gets the bytes moved since its last call
};

/// What was moved: leaves, calls of read, and leaves whose codec changed.
struct MoveCounts {
  std::uint64_t leaves = 0, raw_bytes = 0;
  std::uint64_t reads = 0, read_bytes = 0;
  std::uint64_t decoded = 0, encoded = 0;  ///< leaves decompressed, leaves compressed
};

/// Writes the shards of one group of files (MovePlan::groups) at the same time.
class LeafMover {
 public:
  LeafMover(Fs& fs, ShardReader& source, const MovePlan& plan, const MoveHooks& hooks)
      : fs_(fs), source_(source), plan_(plan), hooks_(hooks) {}

  /// Writes `files` below `folder` and returns the written shards in the same order. No file may have leaves to encode:
  /// write_resharded() writes such files with write_shard().
  /// \error kCorrupt (names the leaf), kFailed, the errors of the hooks
  Result<std::vector<WrittenShard>> run(const std::string& folder, std::span<const ReshardFile> files,
                                        MoveCounts& counts);

 private:
  Fs& fs_;
  ShardReader& source_;
  const MovePlan& plan_;
  const MoveHooks& hooks_;
};

}  // namespace titan::ckpt
