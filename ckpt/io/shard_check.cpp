#include "ckpt/io/shard_check.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

// The row that a leaf must have, from the bytes that are there.
LeafRow check_leaf(const ShardCheck::Expected& leaf, std::span<const std::byte> bytes) {
  const Digest digest = digest_of(bytes);
  return {leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest};
}

// The same for a leaf larger than the buffer.
Result<LeafRow> check_large_leaf(const ShardCheck::Expected& leaf, File& file, std::span<std::byte> buffer, const ShardCheck::Count& count) {
  Hasher hasher;
  TITAN_RETURN_IF_ERROR(hash_range(file, leaf.offset, leaf.offset + leaf.bytes, buffer, count, hasher));
  const Digest digest = hasher.digest();
  return LeafRow{leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest};
}

}  // namespace

Status hash_range(File& file, std::uint64_t begin, std::uint64_t end, std::span<std::byte> buffer, const std::function<void(std::uint64_t)>& count,
                  Hasher& hasher) {
  while (begin < end) {
    const std::span<std::byte> part = buffer.first(std::min<std::uint64_t>(buffer.size(), end - begin));
    TITAN_RETURN_IF_ERROR(file.pread(begin, part));
    hasher.update(part);
    begin += part.size();
    count(part.size());
  }
  return ok_status();
}

Result<std::unique_ptr<ShardCheck>> ShardCheck::open(Fs& fs, const std::string& folder, const Manifest& manifest, std::uint32_t index, const Pieces& pieces,
                                                     const Count& count) {
  std::unique_ptr<ShardCheck> check(new ShardCheck(manifest, index));
  TITAN_ASSIGN_OR_RETURN(check->handle_, fs.open_read(join_path(folder, check->file_.path)));
  check->table_.resize(check->file_.table_rows * kLeafRowBytes);
  TITAN_RETURN_IF_ERROR(check->handle_->pread(check->file_.table_offset, check->table_));
  count(check->table_.size());
  check->stored_ = decode_leaf_table(check->table_);
  check->expect(pieces);
  check->actual_.resize(check->leaves_.size());
  return check;
}

void ShardCheck::expect(const Pieces& pieces) {
  leaves_.resize(file_.table_rows);
  for (const auto& [ref, piece] : pieces) {
    const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
    const std::uint64_t size = dtype_size(manifest_.stored(ref)->dtype);
    std::uint64_t offset = piece->offset;
    for (std::uint64_t i = 0; i < piece->leaf_count; ++i) {
      const std::uint64_t bytes = grid.length(piece->first_leaf + i) * size;
      leaves_[piece->row + i] = {ref, piece->first_leaf + i, offset, bytes, piece->row + i};
      offset += bytes;
    }
  }
}

bool ShardCheck::next(Run& run) {
  if (next_ == leaves_.size()) return false;
  run = {next_, next_ + 1};
  std::uint64_t bytes = leaves_[next_].bytes;
  while (run.end < leaves_.size() && leaves_[run.end].offset == leaves_[run.end - 1].offset + leaves_[run.end - 1].bytes &&
         bytes + leaves_[run.end].bytes <= kCheckBuffer) {
    bytes += leaves_[run.end++].bytes;
  }
  next_ = run.end;
  return true;
}

Status ShardCheck::check(const Run& run, std::span<std::byte> buffer, const Count& count) {
  if (run.begin == run.end) return ok_status();  // a shard without leaves
  const Expected& first = leaves_[run.begin];
  const std::uint64_t bytes = leaves_[run.end - 1].offset + leaves_[run.end - 1].bytes - first.offset;
  if (bytes > buffer.size()) {
    TITAN_ASSIGN_OR_RETURN(actual_[run.begin], check_large_leaf(first, *handle_, buffer, count));
    return ok_status();
  }
  TITAN_RETURN_IF_ERROR(handle_->pread(first.offset, buffer.first(bytes)));
  for (std::size_t row = run.begin; row < run.end; ++row)
    actual_[row] = check_leaf(leaves_[row], buffer.subspan(leaves_[row].offset - first.offset, leaves_[row].bytes));
  count(bytes);
  return ok_status();
}

Status ShardCheck::finish(std::span<std::byte> buffer, const Count& count, std::vector<Damage>& damage) {
  const bool table_intact = digest_of(table_) == file_.table;
  // Both may be read back from each other: a table rebuilt from whole leaves has the expected digest.
  const bool leaves_intact = table_intact ? actual_ == stored_ : digest_of(encode_leaf_table(actual_)) == file_.table;
  if (!table_intact) {
    damage.push_back({file_.path, "table", "", 0, file_.table_offset, table_.size(),
                      "the leaf table does not match its digest" + std::string(leaves_intact ? "; the leaves are whole" : "")});
  }
  for (std::size_t row = 0; !leaves_intact && row < leaves_.size(); ++row) {
    if (actual_[row] == stored_[row]) continue;
    const Expected& leaf = leaves_[row];
    damage.push_back({file_.path, "leaf", manifest_.stored_name(leaf.ref), leaf.leaf, leaf.offset, leaf.bytes,
                      table_intact ? "its bytes do not match their digest" : "its bytes or its row in the damaged leaf table are wrong"});
  }
  std::vector<ByteRange> covered{{file_.table_offset, file_.table_offset + table_.size()}};
  for (const Expected& leaf : leaves_) covered.push_back({leaf.offset, leaf.offset + leaf.bytes});
  Hasher envelope;
  for (const ByteRange& range : uncovered(std::move(covered), file_.bytes))
    TITAN_RETURN_IF_ERROR(hash_range(*handle_, range.begin, range.end, buffer, count, envelope));
  if (envelope.digest() != file_.envelope) {
    damage.push_back({file_.path, "envelope", "", 0, 0, file_.bytes,
                      "the bytes outside of leaves and leaf table (HDF5 structure, gaps) do not match their digest"});
  }
  if (table_intact) proven_ = std::move(stored_);
  return ok_status();
}

}  // namespace titan::ckpt
