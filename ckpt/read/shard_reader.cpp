#include "ckpt/read/shard_reader.h"

#include <algorithm>
#include <cstring>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/parallel.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kOpenFiles = 128;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;  // still in the processor's cache when they are hashed
constexpr std::uint64_t kReaders = 4;                         // simultaneous reads keep a store busy

// 1 MiB per open file. Of a longer table, only the needed parts are read.
constexpr std::uint64_t kRowsHeld = kRowsAtOnce;

}  // namespace

Status check_table_on_disk(const FileEntry& entry, const FileInfo& info, const std::string& path) {
  // Some stores do not know yet how many bytes of a small or new file are on disk.
  constexpr std::uint64_t kTaken = std::uint64_t{64} << 20;
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

Result<std::vector<LeafRow>> read_rows(File& file, const FileEntry& entry, std::uint64_t first, std::uint64_t count) {
  std::vector<std::byte> bytes(count * kLeafRowBytes);
  TITAN_RETURN_IF_ERROR(file.pread(entry.table_offset + first * kLeafRowBytes, bytes));
  return decode_leaf_table(bytes);
}

bool row_fits(const LeafRow& row, const LeafPlace& place, std::uint64_t file_bytes) {
  if (row.raw_bytes != place.raw_bytes || row.offset != place.offset.value_or(row.offset) || row.offset > file_bytes ||
      row.stored_bytes > file_bytes - row.offset)
    return false;
  if (place.codec == Codec::kZstd) return stored_form_ok(row.stored_bytes, row.filter_mask, place.chunk_bytes);
  return row.stored_bytes == row.raw_bytes && row.filter_mask == 0 && row.stored == row.raw;
}

PieceLeaves::PieceLeaves(const Manifest& manifest, const TensorRef& ref, const Piece& piece)
    : ref_(ref),
      piece_(piece),
      grid_(manifest.parameters[ref.index].meta.grid(manifest.leaf_elements)),
      size_(dtype_size(manifest.stored(ref)->dtype)) {}

LeafPlace PieceLeaves::at(std::uint64_t leaf) const {
  LeafPlace place{grid_.length(leaf) * size_, grid_.chunk_extent() * size_, size_, piece_.codec, {}};
  if (piece_.codec == Codec::kRaw || leaf == piece_.first_leaf)
    place.offset = piece_.offset + (grid_.begin(leaf) - grid_.begin(piece_.first_leaf)) * size_;
  return place;
}

std::span<std::byte> LeafReader::block(std::size_t bytes) {
  if (!block_ || block_->all().size() < bytes) block_.emplace(bytes);
  return block_->first(bytes);
}

Status LeafReader::read(File& file, const LeafRow& row, const LeafPlace& place, std::span<std::byte> raw) {
  stored_.resize(row.stored_bytes);
  TITAN_RETURN_IF_ERROR(file.pread(row.offset, stored_));
  TITAN_RETURN_IF_ERROR(decoder_.decode(stored_, row.filter_mask, place.element_size, place.chunk_bytes, raw));
  if (digest_of(raw) != row.raw) return corrupt("data do not match their digest");
  return ok_status();
}

Result<LeafRow> LeafReader::measure(File& file, const LeafRow& row, const LeafPlace& place) {
  stored_.resize(row.stored_bytes);
  TITAN_RETURN_IF_ERROR(file.pread(row.offset, stored_));
  return measure(stored_, row, place);
}

LeafRow LeafReader::measure(std::span<const std::byte> stored, const LeafRow& row, const LeafPlace& place) {
  LeafRow found = row;
  found.stored = digest_of(stored);
  if (place.codec == Codec::kRaw)
    return {*place.offset, place.raw_bytes, place.raw_bytes, 0, found.stored, found.stored};
  const Result<Digest> raw =
      decoder_.digest(stored, row.filter_mask, place.element_size, place.chunk_bytes, place.raw_bytes);
  found.raw = raw.ok() ? *raw : row.raw;
  if (!raw.ok()) found.raw.bytes[0] ^= 1;
  return found;
}

Result<std::shared_ptr<File>> ShardReader::open(std::uint32_t file) {
  const MutexLock lock(mutex_);
  if (const auto known = open_files_.find(file); known != open_files_.end()) return known->second;
  TITAN_ASSIGN_OR_RETURN(std::shared_ptr<File> opened,
                         fs_.open_member(folder_, manifest_.files[file].path, Access::kScan));
  if (open_order_.size() >= kOpenFiles) {
    open_files_.erase(open_order_.front());  // a file in use stays open through its user's pointer
    tables_.erase(open_order_.front());
    open_order_.pop_front();
  }
  open_files_[file] = opened;
  open_order_.push_back(file);
  return opened;
}

Status ShardReader::check_table(File& handle, std::uint32_t file) const {
  const FileEntry& entry = manifest_.files[file];
  TITAN_ASSIGN_OR_RETURN(const Digest digest, table_digest(handle, entry));
  if (digest == entry.table) return ok_status();
  return corrupt("the leaf table of " + file_path(file) + " (offset " + std::to_string(entry.table_offset) + ", " +
                 std::to_string(entry.table_rows * kLeafRowBytes) + " bytes) does not match its digest");
}

std::size_t ShardReader::tables_held() {
  const MutexLock lock(mutex_);
  return tables_.size();
}

Result<std::vector<LeafRow>> ShardReader::table(std::uint32_t file) {
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> handle, open(file));
  TITAN_RETURN_IF_ERROR(check_table(*handle, file));
  return read_rows(*handle, manifest_.files[file], 0, manifest_.files[file].table_rows);
}

Result<std::shared_ptr<const ShardReader::Rows>> ShardReader::kept_table(std::uint32_t file, File& handle) {
  const auto held = [&]() -> std::shared_ptr<const Rows> {
    const MutexLock lock(mutex_);
    const auto known = tables_.find(file);
    return known == tables_.end() ? nullptr : known->second;
  };
  if (auto rows = held()) return rows;
  const MutexLock reading(table_mutex_);  // so that threads that begin at the same time read a table only once
  if (auto rows = held()) return rows;
  const FileEntry& entry = manifest_.files[file];
  TITAN_RETURN_IF_ERROR(check_table(handle, file));
  Rows rows;
  if (entry.table_rows <= kRowsHeld) {
    TITAN_ASSIGN_OR_RETURN(rows, read_rows(handle, entry, 0, entry.table_rows));
  }
  const auto kept = std::make_shared<const Rows>(std::move(rows));
  const MutexLock lock(mutex_);
  return open_files_.contains(file) ? tables_.emplace(file, kept).first->second : kept;
}

// Returns rows [first, first + count) of the table of `file`. The table is checked before any row is used.
Result<ShardReader::Rows> ShardReader::rows(std::uint32_t file, File& handle, std::uint64_t first,
                                            std::uint64_t count) {
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Rows> kept, kept_table(file, handle));
  if (kept->empty()) return read_rows(handle, manifest_.files[file], first, count);
  const auto begin = kept->begin() + static_cast<std::ptrdiff_t>(first);
  return Rows(begin, begin + static_cast<std::ptrdiff_t>(count));
}

PieceLeaves ShardReader::piece(const TensorRef& ref, std::uint64_t leaf) const {
  const std::vector<Piece>& pieces = manifest_.stored(ref)->pieces;
  const auto after = std::upper_bound(pieces.begin(), pieces.end(), leaf,
                                      [](std::uint64_t at, const Piece& piece) { return at < piece.first_leaf; });
  return {manifest_, ref, *std::prev(after)};
}

Status ShardReader::check_row(const LeafRow& row, const PieceLeaves& leaves, std::uint64_t leaf) const {
  if (row_fits(row, leaves.at(leaf), manifest_.files[leaves.piece().file].bytes)) return ok_status();
  return damaged("the leaf table does not agree with the manifest", row, leaves, leaf);
}

Status ShardReader::damaged(const std::string& what, const LeafRow& row, const PieceLeaves& leaves,
                            std::uint64_t leaf) const {
  const LeafPlace place = leaves.at(leaf);
  const bool raw = place.codec == Codec::kRaw;
  return corrupt(what + ": leaf " + std::to_string(leaf) + " of tensor '" + manifest_.stored_name(leaves.ref()) +
                 "' in " + file_path(leaves.piece().file) + ", offset " +
                 std::to_string(raw ? *place.offset : row.offset) + ", " +
                 std::to_string(raw ? place.raw_bytes : row.stored_bytes) + " bytes");
}

std::unique_ptr<LeafReader> ShardReader::borrow_reader() {
  const MutexLock lock(mutex_);
  if (idle_readers_.empty()) return std::make_unique<LeafReader>();
  std::unique_ptr<LeafReader> reader = std::move(idle_readers_.back());
  idle_readers_.pop_back();
  return reader;
}

void ShardReader::give_back(std::unique_ptr<LeafReader> reader) {
  const MutexLock lock(mutex_);
  idle_readers_.push_back(std::move(reader));
}

Status ShardReader::read(const TensorRef& ref, const Piece& piece, LeafRange leaves, std::span<std::byte> out) {
  const PieceLeaves place(manifest_, ref, piece);
  for (std::uint64_t at = leaves.first; at < leaves.end(); at += kRowsAtOnce) {
    const LeafRange part{at, std::min(kRowsAtOnce, leaves.end() - at)};
    TITAN_RETURN_IF_ERROR(read_part(place, part, out.first(place.bytes(part))));
    out = out.subspan(place.bytes(part));
  }
  return ok_status();
}

// At most kRowsAtOnce leaves.
Status ShardReader::read_part(const PieceLeaves& place, LeafRange leaves, std::span<std::byte> out) {
  const Piece& piece = place.piece();
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, open(piece.file));
  TITAN_ASSIGN_OR_RETURN(const Rows found,
                         rows(piece.file, *file, piece.row + (leaves.first - piece.first_leaf), leaves.count));
  return piece.codec == Codec::kRaw ? read_raw(*file, place, found, leaves, out)
                                    : read_compressed(*file, place, found, leaves, out);
}

// Reads and checks the bytes of `leaves`, which are adjacent in the file. Reads past the page cache need aligned
// memory, so they use `block` unless `out` is aligned.
Status ShardReader::read_run(File& file, const PieceLeaves& place, std::span<const LeafRow> rows, LeafRange leaves,
                             std::span<std::byte> out) {
  const bool in_place = is_aligned(out.data());
  std::unique_ptr<LeafReader> reader = in_place ? nullptr : borrow_reader();
  const std::span<std::byte> into = in_place ? out : reader->block(out.size());
  TITAN_RETURN_IF_ERROR(file.pread(*place.at(leaves.first).offset, into));
  std::uint64_t at = 0;
  for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf) {
    const LeafRow& row = rows[leaf - leaves.first];
    const std::uint64_t bytes = place.bytes({leaf, 1});
    TITAN_RETURN_IF_ERROR(check_row(row, place, leaf));
    if (digest_of(into.subspan(at, bytes)) != row.raw)
      return damaged("data do not match their digest", row, place, leaf);
    at += bytes;
  }
  if (!in_place) {
    std::memcpy(out.data(), into.data(), out.size());
    give_back(std::move(reader));
  }
  return ok_status();
}

Status ShardReader::read_raw(File& file, const PieceLeaves& place, const Rows& rows, LeafRange leaves,
                             std::span<std::byte> out) {
  // All leaves of a tensor but the last have the same length.
  const std::uint64_t in_run = std::max<std::uint64_t>(kReadBytes / place.bytes({leaves.first, 1}), 1);
  const std::uint64_t runs = ceil_div(leaves.count, in_run);
  const std::uint64_t jobs = std::min<std::uint64_t>(runs, kReaders);
  return parallel_for(jobs, static_cast<unsigned>(jobs), [&](std::size_t job) {
    for (std::uint64_t run = job; run < runs; run += jobs) {
      const std::uint64_t skip = run * in_run;
      const LeafRange part{leaves.first + skip, std::min(in_run, leaves.count - skip)};
      TITAN_RETURN_IF_ERROR(read_run(file, place, std::span(rows).subspan(skip, part.count), part,
                                     out.subspan(place.bytes({leaves.first, skip}), place.bytes(part))));
    }
    return ok_status();
  });
}

Status ShardReader::read_compressed(File& file, const PieceLeaves& place, const Rows& rows, LeafRange leaves,
                                    std::span<std::byte> out) {
  std::unique_ptr<LeafReader> reader = borrow_reader();
  Status status;
  for (std::uint64_t leaf = leaves.first; leaf < leaves.end() && status.ok(); ++leaf) {
    const LeafRow& row = rows[leaf - leaves.first];
    const std::uint64_t bytes = place.bytes({leaf, 1});
    status = check_row(row, place, leaf);
    if (!status.ok()) break;
    status = reader->read(file, row, place.at(leaf), out.first(bytes));
    if (status.code == Code::kCorrupt) status = damaged(status.message, row, place, leaf);
    out = out.subspan(bytes);
  }
  give_back(std::move(reader));
  if (status.code == Code::kCorrupt) status.message += " stored";  // the size in it is that of the stored bytes
  return status;
}

}  // namespace titan::ckpt
