#pragma once
// Leaves fetched one after another, stored by several threads: the bounded ring behind write_shard().
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

/// One leaf on its way, as the provider gave it.
struct FetchedLeaf {
  std::size_t piece = 0;
  std::uint64_t leaf = 0;
  std::uint64_t sequence = 0;  ///< 0, 1, ... in order of pieces and leaves
  std::span<const std::byte> raw;
};

/// Stores one leaf; runs in several threads at once, each with an encoder of its own.
using LeafStore = std::function<Status(const FetchedLeaf& leaf, LeafEncoder& encoder)>;

class Turnstile;

/// Calls `fetch` for every leaf of `pieces` in order from this thread, and `store` for each from `threads` threads (1:
/// this one, without copying the leaf), or fewer where the system has no more. Returns when all leaves are stored, or
/// after the first error, which also stops `turnstile`, so that no store waits for ever. `path` names the file in
/// messages. \error kFailed (a leaf of the wrong size), what `fetch` and `store` return
Status run_leaf_pipeline(const std::vector<ShardPiece>& pieces, const std::string& path, const LeafProvider& fetch,
                         const LeafStore& store, unsigned threads, Turnstile& turnstile);

}  // namespace titan::ckpt
