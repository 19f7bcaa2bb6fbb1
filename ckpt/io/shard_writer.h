#pragma once
// Writes one shard file: the skeleton of shard_file.h plus leaves that someone hands over one at a time.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

/// Returns the raw bytes of leaf `leaf` of piece `piece`; see TensorSource::leaf for who owns them.
using LeafProvider = std::function<Result<std::span<const std::byte>>(std::size_t piece, std::uint64_t leaf, std::span<std::byte> scratch)>;

struct WrittenShard {
  FileEntry file;
  std::vector<Piece> pieces;                 ///< one per given piece; `file` is 0
  std::vector<std::vector<Digest>> leaves;   ///< raw digests per piece
};

/// Creates `<folder>/<member>`, writes and hashes every leaf in order, then the leaf table; datasync and close.
/// Holds at most one leaf. The folder's names are not synced.
/// \error kFailed (I/O, or a leaf of the wrong size), kInvalid (no pieces), whatever `leaf` returns
Result<WrittenShard> write_shard(Fs& fs, const std::string& folder, const std::string& member, const std::vector<ShardPiece>& pieces,
                                 const LeafProvider& leaf);

}  // namespace titan::ckpt
