#include "ckpt/read/shard_check.h"

#include "ckpt/base/integers.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

constexpr std::size_t kMostRanges = std::size_t{1} << 20;  // 16 MiB; Titan's writers need one or a few per piece
constexpr std::uint64_t kOwnChunk = std::uint64_t{1}
                                    << 20;  // the largest compressed leaf that every thread has a buffer for

bool overlap(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return std::adjacent_find(ranges.begin(), ranges.end(),
                            [](const ByteRange& a, const ByteRange& b) { return b.begin < a.end; }) != ranges.end();
}

}  // namespace

Status hash_range(File& file, std::uint64_t begin, std::uint64_t end, std::span<std::byte> buffer,
                  const std::function<void(std::uint64_t)>& count, Hasher& hasher) {
  while (begin < end) {
    const std::span<std::byte> part = buffer.first(std::min<std::uint64_t>(buffer.size(), end - begin));
    TITAN_RETURN_IF_ERROR(file.pread(begin, part));
    hasher.update(part);
    begin += part.size();
    count(part.size());
  }
  return ok_status();
}

void PlaceList::add(std::uint64_t order, Damage damage) {
  const bool named = room_.fetch_sub(1) > 0;
  const MutexLock lock(mutex_);
  if (named) {
    places_.emplace_back(order, std::move(damage));
  } else {
    ++left_out_;
  }
}

void PlaceList::take(std::vector<Damage>& places, std::uint64_t& left_out) {
  const MutexLock lock(mutex_);
  std::stable_sort(places_.begin(), places_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, damage] : places_) places.push_back(std::move(damage));
  places_.clear();
  left_out += std::exchange(left_out_, 0);
}

Result<std::unique_ptr<ShardCheck>> ShardCheck::open(Fs& fs, const std::string& folder, const Manifest& manifest,
                                                     std::uint32_t index, Pieces& pieces,
                                                     const std::function<void(std::uint64_t)>& count,
                                                     std::atomic<std::int64_t>& room) {
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.second->row < b.second->row; });
  std::unique_ptr<ShardCheck> check(new ShardCheck(manifest, index, pieces, room));
  const FileEntry& file = check->file_;
  TITAN_ASSIGN_OR_RETURN(check->handle_, fs.open_member(folder, file.path, Access::kScan));
  TITAN_ASSIGN_OR_RETURN(const Digest digest, table_digest(*check->handle_, file));
  check->table_intact_ = digest == file.table;
  count(file.table_rows * kLeafRowBytes);
  check->cover(file.table_offset, file.table_offset + file.table_rows * kLeafRowBytes);
  for (const auto& [ref, piece] : pieces) {
    if (piece->codec == Codec::kZstd) continue;  // only the rows have the offsets of its leaves
    const std::uint64_t bytes = PieceLeaves(manifest, ref, *piece).bytes({piece->first_leaf, piece->leaf_count});
    check->cover(piece->offset, piece->offset + bytes);
  }
  return check;
}

bool ShardCheck::compressed() const {
  return std::ranges::any_of(pieces_, [](const auto& piece) { return piece.second->codec == Codec::kZstd; });
}

void ShardCheck::cover(std::uint64_t begin, std::uint64_t end) {
  if (!covered_.empty() && covered_.back().end == begin) {
    covered_.back().end = end;
  } else if (covered_.size() < kMostRanges + pieces_.size() + 1) {
    covered_.push_back({begin, end});
  } else {
    scattered_ = true;
  }
}

// Called once for each row, in order.
ShardCheck::Expected ShardCheck::expected(std::uint64_t row, const LeafRow& stored) {
  while (row >= pieces_[piece_].second->row + pieces_[piece_].second->leaf_count) ++piece_;
  const auto& [ref, piece] = pieces_[piece_];
  const std::uint64_t number = piece->first_leaf + (row - piece->row);
  Expected leaf{&ref, number, row, PieceLeaves(manifest_, ref, *piece).at(number)};
  if (!leaf.compressed()) {
    leaf.offset = *leaf.place.offset;
    leaf.bytes = leaf.place.raw_bytes;
    return leaf;
  }
  leaf.lost = !row_fits(stored, leaf.place, file_.bytes);
  leaf.offset = leaf.lost ? file_.table_offset + row * kLeafRowBytes : stored.offset;
  leaf.bytes = leaf.lost ? kLeafRowBytes : stored.stored_bytes;
  some_lost_ = some_lost_ || leaf.lost;
  if (!leaf.lost) cover(leaf.offset, leaf.offset + leaf.bytes);
  return leaf;
}

Result<std::shared_ptr<const ShardCheck::Window>> ShardCheck::next_window() {
  auto window = std::make_shared<Window>();
  const std::uint64_t count = std::min(kRowsAtOnce, file_.table_rows - next_row_);
  TITAN_ASSIGN_OR_RETURN(window->rows, read_rows(*handle_, file_, next_row_, count));
  window->leaves.reserve(count);
  for (const LeafRow& row : window->rows) window->leaves.push_back(expected(next_row_++, row));
  return std::shared_ptr<const Window>(std::move(window));
}

// Advances `run` to the next run; returns false at the end of its window.
bool ShardCheck::next_run(Run& run) const {
  const std::vector<Expected>& leaves = run.window->leaves;
  if (run.end == leaves.size()) return false;
  run.begin = run.end++;
  std::uint64_t bytes = leaves[run.begin].bytes;
  while (run.end < leaves.size() && !leaves[run.end - 1].lost && !leaves[run.end].lost &&
         leaves[run.end].offset == leaves[run.end - 1].offset + leaves[run.end - 1].bytes &&
         bytes + leaves[run.end].bytes <= kCheckRun) {
    bytes += leaves[run.end++].bytes;
  }
  return true;
}

Result<bool> ShardCheck::next(Run& run) {
  if (!table_intact_) {
    run = {};
    return !std::exchange(all_handed_out_, true) && file_.table_rows > 0;
  }
  while (!at_.window || !next_run(at_)) {
    if (next_row_ == file_.table_rows) return false;
    at_ = {};
    TITAN_ASSIGN_OR_RETURN(at_.window, next_window());
  }
  run = at_;
  return true;
}

Status ShardCheck::check(const Run& run, CheckTools& tools) {
  if (!run.window) return check_rebuilding(tools);
  return read_run(run, tools, [&](std::size_t index, const LeafRow& actual) {
    if (actual != run.window->rows[index])
      add_damaged(run.window->leaves[index], "its bytes do not match their digest");
  });
}

// Rebuilds a damaged table from the leaves: if they are undamaged, it has the digest that the manifest expects.
Status ShardCheck::check_rebuilding(CheckTools& tools) {
  Hasher rebuilt;
  std::uint64_t seen_leaves = 0;
  while (next_row_ < file_.table_rows) {
    Run run;
    TITAN_ASSIGN_OR_RETURN(run.window, next_window());
    std::vector<LeafRow> actual = run.window->rows;
    while (next_run(run)) {
      TITAN_RETURN_IF_ERROR(read_run(run, tools, [&](std::size_t index, const LeafRow& found) {
        ++seen_leaves;
        actual[index] = found;
        const Expected& leaf = run.window->leaves[index];
        if (found == run.window->rows[index]) return;
        places_known_ = places_known_ && !leaf.compressed();
        add_damaged(leaf, "its bytes or its row in the damaged leaf table are wrong");
      }));
    }
    rebuilt.update(encode_leaf_table(actual));
  }
  leaves_intact_ = seen_leaves == file_.table_rows && rebuilt.digest() == file_.table;
  if (!leaves_intact_) {
    places_known_ = places_known_ && (!compressed() || seen_leaves == file_.table_rows);
    return ok_status();
  }
  // Only the rows were damaged, not the leaves.
  std::vector<Damage> none;
  std::uint64_t left_out = 0;
  damaged_.take(none, left_out);
  places_known_ = true;
  return ok_status();
}

Status ShardCheck::read_run(const Run& run, CheckTools& tools, const LeafVisitor& seen) {
  const std::vector<Expected>& leaves = run.window->leaves;
  const std::vector<LeafRow>& rows = run.window->rows;
  const Expected& first = leaves[run.begin];
  if (first.lost) {
    add_damaged(first, "its row in the leaf table cannot be");
    return ok_status();
  }
  const std::uint64_t bytes = leaves[run.end - 1].offset + leaves[run.end - 1].bytes - first.offset;
  const auto one = [&](std::size_t index) {
    return read_leaf(leaves[index], rows[index], tools, [&](const LeafRow& actual) { seen(index, actual); });
  };
  if (bytes > kCheckRun) return one(run.begin);
  // Reads whole blocks, because only those bypass the page cache (Fs::open_scan).
  const std::uint64_t begin = first.offset / kScanAlignment * kScanAlignment;
  const std::uint64_t end = std::min(round_up(first.offset + bytes, kScanAlignment), file_.bytes);
  const std::span<std::byte> buffer = tools.buffer.all().first(end - begin);
  const Status read = handle_->pread(begin, buffer);
  if (read.code == Code::kMediaError) {
    for (std::size_t index = run.begin; index < run.end; ++index) TITAN_RETURN_IF_ERROR(one(index));
    return ok_status();
  }
  TITAN_RETURN_IF_ERROR(read);
  for (std::size_t index = run.begin; index < run.end; ++index)
    seen(index,
         measure(leaves[index], rows[index], buffer.subspan(leaves[index].offset - begin, leaves[index].bytes), tools));
  tools.count(bytes);
  return ok_status();
}

// Checks one leaf: a large one, or one of a run that could not be read with a single call.
Status ShardCheck::read_leaf(const Expected& leaf, const LeafRow& row, CheckTools& tools,
                             const std::function<void(const LeafRow&)>& seen) {
  const auto read = [&]() -> Result<LeafRow> {
    if (leaf.compressed() && leaf.place.chunk_bytes > kOwnChunk) {
      const MutexLock lock(tools.large->mutex);
      return tools.large->reader.measure(*handle_, row, leaf.place);
    }
    if (leaf.compressed()) return tools.reader.measure(*handle_, row, leaf.place);
    Hasher hasher;
    TITAN_RETURN_IF_ERROR(hash_range(
        *handle_, leaf.offset, leaf.offset + leaf.bytes, tools.buffer.all(), [](std::uint64_t) {}, hasher));
    const Digest digest = hasher.digest();
    return LeafRow{leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest};
  };
  const Result<LeafRow> actual = read();
  if (actual.status().code == Code::kMediaError) {
    add_unreadable(leaf, actual.status());
    return ok_status();
  }
  TITAN_RETURN_IF_ERROR(actual.status());
  tools.count(leaf.bytes);
  seen(*actual);
  return ok_status();
}

// Computes the row of a leaf from its bytes.
LeafRow ShardCheck::measure(const Expected& leaf, const LeafRow& row, std::span<const std::byte> bytes,
                            CheckTools& tools) const {
  if (leaf.compressed() && leaf.place.chunk_bytes > kOwnChunk) {
    const MutexLock lock(tools.large->mutex);
    return tools.large->reader.measure(bytes, row, leaf.place);
  }
  return tools.reader.measure(bytes, row, leaf.place);
}

void ShardCheck::add_damaged(const Expected& leaf, const char* what) {
  damaged_.add(leaf.row,
               {file_.path, "leaf", manifest_.stored_name(*leaf.ref), leaf.leaf, leaf.offset, leaf.bytes, what});
}

void ShardCheck::add_unreadable(const Expected& leaf, const Status& why) {
  unreadable_.add(leaf.row, {file_.path, "leaf", manifest_.stored_name(*leaf.ref), leaf.leaf, leaf.offset, leaf.bytes,
                             why.message});
}

Status ShardCheck::finish(CheckTools& tools, std::vector<Damage>& damage, std::vector<Damage>& unreadable,
                          std::uint64_t& left_out) {
  const std::uint64_t table_bytes = file_.table_rows * kLeafRowBytes;
  const auto table_damaged = [&](const std::string& what) {
    damage.push_back({file_.path, "table", "", 0, file_.table_offset, table_bytes, what});
  };
  if (!table_intact_)
    table_damaged("the leaf table does not match its digest" +
                  std::string(leaves_intact_ ? "; the leaves are whole" : ""));
  damaged_.take(damage, left_out);
  unreadable_.take(unreadable, left_out);
  if (scattered_) {
    table_damaged("its leaves lie in more than " + std::to_string(kMostRanges) +
                  " separate places, more than are checked");
    return ok_status();
  }
  if (overlap(covered_) && table_intact_) table_damaged("its rows overlap each other or the table");
  // Without the offsets of all compressed leaves, it is unknown which bytes belong to the envelope.
  const bool all_rows_seen = next_row_ == file_.table_rows || !compressed();
  if (some_lost_ || !(table_intact_ ? all_rows_seen : places_known_)) return ok_status();
  Hasher envelope;
  for (const ByteRange& range : uncovered(std::move(covered_), file_.bytes)) {
    const Status read = hash_range(*handle_, range.begin, range.end, tools.buffer.all(), tools.count, envelope);
    if (read.code == Code::kMediaError) {
      unreadable.push_back({file_.path, "envelope", "", 0, range.begin, range.end - range.begin, read.message});
      return ok_status();
    }
    TITAN_RETURN_IF_ERROR(read);
  }
  if (envelope.digest() != file_.envelope) {
    damage.push_back({file_.path, "envelope", "", 0, 0, file_.bytes,
                      "the bytes outside of leaves and leaf table (HDF5 structure, gaps) do not match their digest"});
  }
  return ok_status();
}

}  // namespace titan::ckpt
