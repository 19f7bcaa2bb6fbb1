// The leaf table and the envelope of a shard: bytes without libhdf5. \source FORMAT.md, "Shard file"
#include <algorithm>
#include <cstring>

#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

std::vector<std::byte> encode_leaf_table(const std::vector<LeafRow>& rows) {
  std::vector<std::byte> bytes;
  bytes.reserve(rows.size() * kLeafRowBytes);
  const auto put = [&](std::uint64_t value, int width) {
    for (int shift = 0; shift < 8 * width; shift += 8) bytes.push_back(static_cast<std::byte>(value >> shift & 0xFF));
  };
  for (const LeafRow& row : rows) {
    for (const std::uint64_t value : {row.offset, row.stored_bytes, row.raw_bytes}) put(value, 8);
    put(row.filter_mask, 4);
    put(0, 4);
    for (const Digest* digest : {&row.raw, &row.stored}) {
      for (const std::uint8_t byte : digest->bytes) bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  return bytes;
}

std::vector<LeafRow> decode_leaf_table(std::span<const std::byte> bytes) {
  std::vector<LeafRow> rows(bytes.size() / kLeafRowBytes);
  const std::byte* at = bytes.data();
  const auto get = [&](int width) {
    std::uint64_t value = 0;
    for (int i = 0; i < width; ++i) value |= static_cast<std::uint64_t>(*at++) << (8 * i);
    return value;
  };
  for (LeafRow& row : rows) {
    row.offset = get(8);
    row.stored_bytes = get(8);
    row.raw_bytes = get(8);
    row.filter_mask = static_cast<std::uint32_t>(get(4));
    get(4);
    for (Digest* digest : {&row.raw, &row.stored}) {
      std::memcpy(digest->bytes.data(), at, digest->bytes.size());
      at += digest->bytes.size();
    }
  }
  return rows;
}

std::vector<ByteRange> uncovered(std::vector<ByteRange> covered, std::uint64_t file_bytes) {
  std::sort(covered.begin(), covered.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> rest;
  std::uint64_t at = 0;
  for (const ByteRange& range : covered) {
    if (range.begin > at) rest.push_back({at, std::min(range.begin, file_bytes)});
    at = std::max(at, range.end);
  }
  if (at < file_bytes) rest.push_back({at, file_bytes});
  return rest;
}

std::uint64_t ShardSkeleton::leaf_offset(const std::vector<ShardPiece>& pieces, std::size_t p,
                                         std::uint64_t leaf) const {
  const ShardPiece& piece = pieces[p];
  if (piece.codec != Codec::kRaw) return leaf_offsets[p][leaf - piece.leaves.first];
  return offsets[p] + (piece.grid.begin(leaf) - piece.grid.begin(piece.leaves.first)) * dtype_size(piece.dtype);
}

bool is_stream(const std::vector<ShardPiece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const ShardPiece& piece) { return piece.codec != Codec::kRaw; });
}

Digest envelope_digest(const ShardSkeleton& skeleton, const std::vector<ShardPiece>& pieces) {
  std::vector<ByteRange> covered{{skeleton.table_offset, skeleton.table_offset + skeleton.table_rows * kLeafRowBytes}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ShardPiece& piece = pieces[i];
    if (piece.codec == Codec::kRaw) covered.push_back({skeleton.offsets[i], skeleton.offsets[i] + piece.bytes()});
    for (std::size_t k = 0; k < skeleton.leaf_offsets[i].size(); ++k)
      covered.push_back({skeleton.leaf_offsets[i][k], skeleton.leaf_offsets[i][k] + piece.stored[k].bytes});
  }
  const std::vector<std::byte> zeros(65536);
  Hasher hasher;
  const auto hash_zeros = [&](std::uint64_t count) {
    for (; count > 0; count -= std::min<std::uint64_t>(count, zeros.size()))
      hasher.update(std::span(zeros).first(std::min<std::uint64_t>(count, zeros.size())));
  };
  auto extent = skeleton.metadata.begin();
  for (const ByteRange& range : uncovered(std::move(covered), skeleton.file_bytes)) {
    std::uint64_t at = range.begin;
    while (at < range.end) {
      while (extent != skeleton.metadata.end() && extent->offset + extent->bytes.size() <= at) ++extent;
      const bool none = extent == skeleton.metadata.end() || extent->offset >= range.end;
      const std::uint64_t begin = none ? range.end : std::max(at, extent->offset);
      hash_zeros(begin - at);
      if (none) break;
      const std::uint64_t end = std::min(range.end, extent->offset + extent->bytes.size());
      hasher.update(std::span(extent->bytes).subspan(begin - extent->offset, end - begin));
      at = end;
    }
  }
  return hasher.digest();
}

}  // namespace titan::ckpt
