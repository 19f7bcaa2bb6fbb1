#include "ckpt/io/shard_check.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

// The row that a raw leaf larger than the buffer must have, from the bytes that are there.
Result<LeafRow> check_large_leaf(const ShardCheck::Expected& leaf, File& file, std::span<std::byte> buffer, const ShardCheck::Count& count) {
  Hasher hasher;
  TITAN_RETURN_IF_ERROR(hash_range(file, leaf.offset, leaf.offset + leaf.bytes, buffer, count, hasher));
  const Digest digest = hasher.digest();
  return LeafRow{leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest};
}

bool overlap(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return std::adjacent_find(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return b.begin < a.end; }) != ranges.end();
}

}  // namespace

// The row that a leaf must have, from the bytes that are there.
LeafRow ShardCheck::check_leaf(const Expected& leaf, std::span<const std::byte> bytes, CompressedLeafReader& reader) const {
  if (leaf.compressed) return reader.measure(bytes, stored_[leaf.row], leaf.form);
  const Digest digest = digest_of(bytes);
  return {leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest};
}

CheckBuffer::CheckBuffer() : memory_(kCheckRun + 3 * kScanAlignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  begin_ = memory_.data() + (kScanAlignment - address % kScanAlignment) % kScanAlignment;
}

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
  TITAN_ASSIGN_OR_RETURN(check->handle_, fs.open_scan(join_path(folder, check->file_.path)));
  check->table_.resize(check->file_.table_rows * kLeafRowBytes);
  TITAN_RETURN_IF_ERROR(check->handle_->pread(check->file_.table_offset, check->table_));
  count(check->table_.size());
  check->stored_ = decode_leaf_table(check->table_);
  check->expect(pieces);
  check->locate_compressed();
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
      leaves_[piece->row + i] = {ref, piece->first_leaf + i, offset, bytes, piece->row + i, piece->codec == Codec::kZstd, i == 0,
                                 {bytes, grid.chunk_extent() * size, size}};
      offset += bytes;
    }
  }
}

void ShardCheck::locate_compressed() {
  for (Expected& leaf : leaves_) {
    if (!leaf.compressed) continue;
    const LeafRow& row = stored_[leaf.row];
    leaf.lost = !row_fits(row, leaf.form, file_.bytes) || (leaf.first && row.offset != leaf.offset);
    leaf.offset = leaf.lost ? file_.table_offset + leaf.row * kLeafRowBytes : row.offset;
    leaf.bytes = leaf.lost ? kLeafRowBytes : row.stored_bytes;
  }
}

bool ShardCheck::next(Run& run) {
  if (next_ == leaves_.size()) return false;
  run = {next_, next_ + 1};
  std::uint64_t bytes = leaves_[next_].bytes;
  while (run.end < leaves_.size() && !leaves_[run.end - 1].lost && !leaves_[run.end].lost && leaves_[run.end].offset == leaves_[run.end - 1].offset + leaves_[run.end - 1].bytes &&
         bytes + leaves_[run.end].bytes <= kCheckRun) {
    bytes += leaves_[run.end++].bytes;
  }
  next_ = run.end;
  return true;
}

Status ShardCheck::check(const Run& run, std::span<std::byte> buffer, CompressedLeafReader& reader, const Count& count) {
  if (run.begin == run.end) return ok_status();  // a shard without leaves
  const Expected& first = leaves_[run.begin];
  if (first.lost) return ok_status();
  const std::uint64_t bytes = leaves_[run.end - 1].offset + leaves_[run.end - 1].bytes - first.offset;
  if (bytes > kCheckRun) {
    if (first.compressed) {
      TITAN_ASSIGN_OR_RETURN(actual_[run.begin], reader.measure(*handle_, stored_[first.row], first.form));
      count(bytes);
    } else {
      TITAN_ASSIGN_OR_RETURN(actual_[run.begin], check_large_leaf(first, *handle_, buffer, count));
    }
    return ok_status();
  }
  // Whole pages, which a scan reads past the cache.
  const std::uint64_t begin = first.offset / kScanAlignment * kScanAlignment;
  const std::uint64_t end = std::min((first.offset + bytes + kScanAlignment - 1) / kScanAlignment * kScanAlignment, file_.bytes);
  TITAN_RETURN_IF_ERROR(handle_->pread(begin, buffer.first(end - begin)));
  for (std::size_t row = run.begin; row < run.end; ++row)
    actual_[row] = check_leaf(leaves_[row], buffer.subspan(leaves_[row].offset - begin, leaves_[row].bytes), reader);
  count(bytes);
  return ok_status();
}

Status ShardCheck::finish(std::span<std::byte> buffer, const Count& count, std::vector<Damage>& damage) {
  const bool table_intact = digest_of(table_) == file_.table;
  const bool some_lost = std::any_of(leaves_.begin(), leaves_.end(), [](const Expected& leaf) { return leaf.lost; });
  // Both may be read back from each other: a table rebuilt from whole leaves has the expected digest.
  const bool leaves_intact = !some_lost && (table_intact ? actual_ == stored_ : digest_of(encode_leaf_table(actual_)) == file_.table);
  if (!table_intact) {
    damage.push_back({file_.path, "table", "", 0, file_.table_offset, table_.size(),
                      "the leaf table does not match its digest" + std::string(leaves_intact ? "; the leaves are whole" : "")});
  }
  for (std::size_t row = 0; !leaves_intact && row < leaves_.size(); ++row) {
    const Expected& leaf = leaves_[row];
    if (actual_[row] == stored_[row] && !leaf.lost) continue;
    damage.push_back({file_.path, "leaf", manifest_.stored_name(leaf.ref), leaf.leaf, leaf.offset, leaf.bytes,
                      leaf.lost      ? "its row in the leaf table cannot be"
                      : table_intact ? "its bytes do not match their digest" : "its bytes or its row in the damaged leaf table are wrong"});
  }
  std::vector<ByteRange> covered{{file_.table_offset, file_.table_offset + table_.size()}};
  for (const Expected& leaf : leaves_)
    if (!leaf.lost) covered.push_back({leaf.offset, leaf.offset + leaf.bytes});
  if (table_intact && overlap(covered))
    damage.push_back({file_.path, "table", "", 0, file_.table_offset, table_.size(), "its rows overlap each other or the table"});
  // Without the places of compressed leaves they cannot be told from the bytes around them.
  const bool all_found = std::all_of(leaves_.begin(), leaves_.end(), [&](const Expected& leaf) { return !leaf.compressed || actual_[leaf.row] == stored_[leaf.row]; });
  const bool places_known = !some_lost && (table_intact || leaves_intact || all_found);
  if (table_intact) proven_ = stored_;
  if (!places_known) return ok_status();
  Hasher envelope;
  for (const ByteRange& range : uncovered(std::move(covered), file_.bytes))
    TITAN_RETURN_IF_ERROR(hash_range(*handle_, range.begin, range.end, buffer, count, envelope));
  if (envelope.digest() != file_.envelope) {
    damage.push_back({file_.path, "envelope", "", 0, 0, file_.bytes,
                      "the bytes outside of leaves and leaf table (HDF5 structure, gaps) do not match their digest"});
  }
  return ok_status();
}

}  // namespace titan::ckpt
