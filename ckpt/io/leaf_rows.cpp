#include "ckpt/io/leaf_rows.h"

#include <algorithm>

namespace titan::ckpt {

Status check_table_on_disk(const FileEntry& entry, const FileInfo& info, const std::string& path) {
  constexpr std::uint64_t kTaken = std::uint64_t{64}
                                   << 20;  // some stores know the bytes on disk of small or new files only later
  if (info.allocated > 0 || entry.table_rows * kLeafRowBytes <= kTaken) return ok_status();
  return corrupt(path + " has no bytes on disk, so it cannot hold a leaf table of " + std::to_string(entry.table_rows) +
                 " rows");
}

Result<Digest> table_digest(File& file, const FileEntry& entry) {
  std::vector<std::byte> part(std::min(entry.table_rows, kRowsAtOnce) * kLeafRowBytes);
  Hasher hasher;
  for (std::uint64_t first = 0; first < entry.table_rows; first += kRowsAtOnce) {
    const std::span<std::byte> rows =
        std::span(part).first(std::min(entry.table_rows - first, kRowsAtOnce) * kLeafRowBytes);
    TITAN_RETURN_IF_ERROR(file.pread(entry.table_offset + first * kLeafRowBytes, rows));
    hasher.update(rows);
  }
  return hasher.digest();
}

Status check_table(File& file, const FileEntry& entry, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const Digest digest, table_digest(file, entry));
  if (digest == entry.table) return ok_status();
  return corrupt("the leaf table of " + path + " (offset " + std::to_string(entry.table_offset) + ", " +
                 std::to_string(entry.table_rows * kLeafRowBytes) + " bytes) does not match its digest");
}

Result<std::vector<LeafRow>> read_rows(File& file, const FileEntry& entry, std::uint64_t first, std::uint64_t count) {
  std::vector<std::byte> bytes(count * kLeafRowBytes);
  TITAN_RETURN_IF_ERROR(file.pread(entry.table_offset + first * kLeafRowBytes, bytes));
  return decode_leaf_table(bytes);
}

}  // namespace titan::ckpt
