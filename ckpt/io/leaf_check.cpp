#include "ckpt/io/leaf_check.h"

namespace titan::ckpt {

bool row_fits(const LeafRow& row, const CompressedLeaf& leaf, std::uint64_t file_bytes) {
  return row.raw_bytes == leaf.raw_bytes && stored_form_ok(row.stored_bytes, row.filter_mask, leaf.chunk_bytes) &&
         row.offset <= file_bytes && row.stored_bytes <= file_bytes - row.offset;
}

Status CompressedLeafReader::read(File& file, const LeafRow& row, const CompressedLeaf& leaf,
                                  std::span<std::byte> raw) {
  stored_.resize(row.stored_bytes);
  TITAN_RETURN_IF_ERROR(file.pread(row.offset, stored_));
  TITAN_RETURN_IF_ERROR(decoder_.decode(stored_, row.filter_mask, leaf.element_size, leaf.chunk_bytes, raw));
  if (digest_of(raw) != row.raw) return corrupt("data do not match their digest");
  return ok_status();
}

Result<LeafRow> CompressedLeafReader::measure(File& file, const LeafRow& row, const CompressedLeaf& leaf) {
  stored_.resize(row.stored_bytes);
  TITAN_RETURN_IF_ERROR(file.pread(row.offset, stored_));
  return measure(stored_, row, leaf);
}

LeafRow CompressedLeafReader::measure(std::span<const std::byte> stored, const LeafRow& row,
                                      const CompressedLeaf& leaf) {
  LeafRow found = row;
  found.stored = digest_of(stored);
  const Result<Digest> raw =
      decoder_.digest(stored, row.filter_mask, leaf.element_size, leaf.chunk_bytes, leaf.raw_bytes);
  found.raw = raw.ok() ? *raw : row.raw;
  if (!raw.ok()) found.raw.bytes[0] ^= 1;
  return found;
}

}  // namespace titan::ckpt
