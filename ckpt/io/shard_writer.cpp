#include "ckpt/io/shard_writer.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

Status write_leaves(File& file, const std::string& path, const ShardSkeleton& skeleton, const std::vector<ShardPiece>& pieces,
                    const LeafProvider& leaf, WrittenShard& written, std::vector<LeafRow>& rows) {
  std::uint64_t largest = 0;
  for (const ShardPiece& piece : pieces) largest = std::max(largest, piece.grid.length(piece.leaves.first) * dtype_size(piece.dtype));
  std::vector<std::byte> scratch(largest);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const ShardPiece& piece = pieces[p];
    std::uint64_t offset = skeleton.offsets[p];
    written.pieces.push_back({0, piece.leaves.first, piece.leaves.count, offset, rows.size(), Codec::kRaw});
    written.leaves.emplace_back();
    for (std::uint64_t i = piece.leaves.first; i < piece.leaves.end(); ++i) {
      const std::uint64_t bytes = piece.grid.length(i) * dtype_size(piece.dtype);
      TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> data, leaf(p, i, std::span(scratch).first(bytes)));
      if (data.size() != bytes) {
        return failed("leaf " + std::to_string(i) + " of '" + piece.tensor + "' for " + path + " has " + std::to_string(data.size()) +
                      " bytes, expected " + std::to_string(bytes));
      }
      const Digest digest = digest_of(data);
      TITAN_RETURN_IF_ERROR(file.pwrite(offset, data));
      rows.push_back({offset, bytes, bytes, 0, digest, digest});
      written.leaves.back().push_back(digest);
      offset += bytes;
    }
  }
  return ok_status();
}

}  // namespace

Result<WrittenShard> write_shard(Fs& fs, const std::string& folder, const std::string& member, const std::vector<ShardPiece>& pieces,
                                 const LeafProvider& leaf, const ShardWriteOptions&) {
  TITAN_ASSIGN_OR_RETURN(const ShardSkeleton skeleton, make_skeleton(pieces));
  WrittenShard written;
  FileEntry& entry = written.file;
  entry.path = member;
  entry.role = FileRole::kShard;
  entry.bytes = skeleton.file_bytes;
  entry.table_offset = skeleton.table_offset;
  entry.table_rows = skeleton.table_rows;
  entry.envelope = envelope_digest(skeleton, pieces);

  const std::string path = join_path(folder, member);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.create(path));
  TITAN_RETURN_IF_ERROR(file->truncate(skeleton.file_bytes));
  for (const ShardSkeleton::Extent& extent : skeleton.metadata) TITAN_RETURN_IF_ERROR(file->pwrite(extent.offset, extent.bytes));
  std::vector<LeafRow> rows;
  TITAN_RETURN_IF_ERROR(write_leaves(*file, path, skeleton, pieces, leaf, written, rows));
  const std::vector<std::byte> table = encode_leaf_table(rows);
  entry.table = digest_of(table);
  TITAN_RETURN_IF_ERROR(file->pwrite(skeleton.table_offset, table));
  TITAN_RETURN_IF_ERROR(file->datasync());
  TITAN_RETURN_IF_ERROR(file->close());
  return written;
}

}  // namespace titan::ckpt
