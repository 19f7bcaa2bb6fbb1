#pragma once
// The message in which a rank tells rank 0, or the maker of its files (shared_writer.h), which files and leaves it
// wrote.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// The files and leaves that one rank wrote. Sent in encoded form.
struct RankReceipt {
  std::uint32_t rank = 0;  ///< pipeline rank * dp + dp_rank
  std::vector<FileEntry> files;
  /// A piece of a stored tensor, with the digests of its leaves.
  struct Item {
    TensorRef ref;
    Piece piece;  ///< piece.file indexes `files` of this receipt
    std::vector<Digest> leaves;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;  ///< in the order of the pieces in the shard files
  bool operator==(const RankReceipt&) const = default;
};

std::string encode_receipt(const RankReceipt& receipt);
/// \error kCorrupt
Result<RankReceipt> decode_receipt(std::string_view bytes);

}  // namespace titan::ckpt
