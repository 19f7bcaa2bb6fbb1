#pragma once
// The bounded ring of buffers of write_shard(): one thread fetches leaves in order, several threads store them.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/leaf_codec.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {

/// One leaf, as the LeafProvider of run_leaf_pipeline() returned it.
struct FetchedLeaf {
  std::size_t piece = 0;
  std::uint64_t leaf = 0;
  std::uint64_t sequence = 0;  ///< 0, 1, ... in order of pieces and leaves
  std::span<const std::byte> raw;
};

/// Stores one leaf. Runs in several threads at the same time, each with its own encoder.
using LeafStore = std::function<Status(const FetchedLeaf& leaf, LeafEncoder& encoder)>;

class Turnstile;

/// Calls `fetch` in this thread for every leaf of `pieces` in order, and `store` for each leaf in `threads` threads, or
/// fewer if the system cannot start them. With 1 thread, this thread also stores, and leaves are not copied. Returns
/// when all leaves are stored, or after the first error, which also stops `turnstile` (turnstile.h), so that no `store`
/// waits in it forever. `path` names the file in messages. \error kFailed (a leaf of the wrong size), the errors of
/// `fetch` and `store`
Status run_leaf_pipeline(const std::vector<ShardPiece>& pieces, const std::string& path, const LeafProvider& fetch,
                         const LeafStore& store, unsigned threads, Turnstile& turnstile);

}  // namespace titan::ckpt
