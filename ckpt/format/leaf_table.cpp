#include "ckpt/format/leaf_table.h"

#include <cstring>

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

}  // namespace titan::ckpt
