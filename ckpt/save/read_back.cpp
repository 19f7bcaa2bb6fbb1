#include "ckpt/save/read_back.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/parallel.h"
#include "ckpt/read/shard_check.h"
#include "ckpt/read/shard_reader.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kOneIn = 100;
constexpr std::size_t kBuffer = std::size_t{1} << 20;

// The error has errno EIO, so that the run continues as after other errors of the store (Status::store_refused): a
// later save may succeed.
Status not_the_same(const std::string& path, const std::string& what) {
  Status status = failed(path + ": " + what + " reads back from the store with other bytes than were written");
  status.error = EIO;
  return status.with_hint("look at the disk, its cable and the memory of this machine before you trust them");
}

Status unreadable(const Status& status, const std::string& path) {
  Status failure = failed(status.message).wrapped(path + " was written and cannot be read back");
  failure.error = status.error != 0 ? status.error : EIO;
  return failure;
}

Status told(const Status& status, const std::string& path) {
  const bool said = status.code == Code::kFailed && status.error == EIO;
  return status.ok() || said ? status : unreadable(status, path);
}

class ReadingBack {
 public:
  ReadingBack(File& file, std::string path, const FileEntry& entry, std::span<const LeafRow> rows)
      : file_(file), path_(std::move(path)), entry_(entry), rows_(rows) {}

  Status table() const {
    TITAN_ASSIGN_OR_RETURN(const Digest digest, table_digest(file_, entry_));
    return digest == entry_.table ? ok_status() : not_the_same(path_, "the leaf table");
  }

  Status envelope() const {
    std::vector<ByteRange> covered{{entry_.table_offset, entry_.table_offset + rows_.size() * kLeafRowBytes}};
    for (const LeafRow& row : rows_) {
      if (covered.back().end == row.offset)
        covered.back().end += row.stored_bytes;
      else
        covered.push_back({row.offset, row.offset + row.stored_bytes});
    }
    Hasher hasher;
    for (const ByteRange& range : uncovered(std::move(covered), entry_.bytes))
      TITAN_RETURN_IF_ERROR(add(range.begin, range.end, hasher));
    return hasher.digest() == entry_.envelope ? ok_status() : not_the_same(path_, "its HDF5 structure");
  }

  Status leaf(std::uint64_t index) const {
    const LeafRow& row = rows_[index];
    Hasher hasher;
    TITAN_RETURN_IF_ERROR(add(row.offset, row.offset + row.stored_bytes, hasher));
    if (hasher.digest() == row.stored) return ok_status();
    return not_the_same(path_, "the leaf at byte " + std::to_string(row.offset));
  }

 private:
  Status add(std::uint64_t begin, std::uint64_t end, Hasher& hasher) const {
    AlignedBuffer buffer(std::min<std::uint64_t>(end - begin, kBuffer));
    return hash_range(
        file_, begin, end, buffer.first(std::min<std::uint64_t>(end - begin, kBuffer)), [](std::uint64_t) {}, hasher);
  }

  File& file_;
  const std::string path_;
  const FileEntry& entry_;
  const std::span<const LeafRow> rows_;
};

}  // namespace

std::vector<std::uint64_t> sampled_leaves(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> leaves;
  if (count == 0) return leaves;
  const std::uint64_t wanted = std::max<std::uint64_t>(count / kOneIn, 1), stride = count / wanted;
  for (std::uint64_t i = 0; i < wanted; ++i) leaves.push_back(i * stride + seed % stride);
  return leaves;
}

Status read_back(Fs& fs, const std::string& folder, const FileEntry& entry, std::span<const LeafRow> rows, ReadBack how,
                 unsigned threads) {
  if (how == ReadBack::kOff) return ok_status();
  const std::string path = join_path(folder, entry.path);
  const auto checked = [&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.open_member(folder, entry.path, Access::kUncached));
    const ReadingBack shard(*file, path, entry, rows);
    TITAN_RETURN_IF_ERROR(shard.table());
    TITAN_RETURN_IF_ERROR(shard.envelope());
    std::vector<std::uint64_t> leaves(rows.size());
    std::iota(leaves.begin(), leaves.end(), std::uint64_t{0});
    if (how == ReadBack::kSampled) {
      // The seed is derived from the table, so the sample changes whenever the weights do.
      std::uint64_t seed = 0;
      std::memcpy(&seed, entry.table.bytes.data(), sizeof seed);
      leaves = sampled_leaves(rows.size(), seed);
    }
    return parallel_for(leaves.size(), threads, [&](std::size_t i) { return shard.leaf(leaves[i]); });
  };
  return told(checked(), path);
}

Status read_back_whole(Fs& fs, const std::string& folder, const FileEntry& entry) {
  const std::string path = join_path(folder, entry.path);
  const auto checked = [&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.open_member(folder, entry.path, Access::kUncached));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
    AlignedBuffer buffer(std::min<std::uint64_t>(entry.bytes, kBuffer));
    Hasher hasher;
    TITAN_RETURN_IF_ERROR(hash_range(
        *file, 0, entry.bytes, buffer.first(std::min<std::uint64_t>(entry.bytes, kBuffer)), [](std::uint64_t) {},
        hasher));
    return size == entry.bytes && hasher.digest() == entry.whole ? ok_status() : not_the_same(path, "the file");
  };
  return told(checked(), path);
}

}  // namespace titan::ckpt
