#pragma once
// What a rank tells rank 0 about the files that it wrote.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// What one rank wrote. Sent to rank 0 as bytes.
struct RankReceipt {
  std::uint32_t rank = 0;  ///< stage * dp + dp_rank
  std::vector<FileEntry> files;
  /// Per stored tensor piece in plan order: where it lies and its leaf digests.
  struct Item {
    TensorRef ref;
    Piece piece;  ///< piece.file indexes `files` of this receipt
    std::vector<Digest> leaves;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> items;
  bool operator==(const RankReceipt&) const = default;
};

std::string encode_receipt(const RankReceipt& receipt);
Result<RankReceipt> decode_receipt(std::string_view bytes);

}  // namespace titan::ckpt
