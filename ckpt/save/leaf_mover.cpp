#include "ckpt/save/leaf_mover.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>

#include "ckpt/base/fs.h"
#include "ckpt/base/helpers.h"
#include "ckpt/base/mutex.h"
#include "ckpt/format/leaf_codec.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kReadThrough = std::uint64_t{64} << 10;  // gaps of up to this many bytes are read, not skipped

/// A leaf on its way from the source to a new shard.
struct Travelling {
  LeafRow row;              ///< in the source
  std::uint64_t leaf = 0;   ///< index in its tensor
  std::uint32_t from = 0;   ///< file index in the source
  std::uint32_t to = 0;     ///< file index in the group
  std::uint32_t piece = 0;  ///< piece index in that file
  bool decode = false;      ///< its codec changes to raw
};

/// One new file of the group.
struct Target {
  const ReshardFile* plan = nullptr;
  std::unique_ptr<ShardWriter> writer;
  std::atomic<std::uint64_t> left = 0;  ///< leaves that are not written yet
  WrittenShard written;
};

class Group {
 public:
  Group(ShardReader& source, const MovePlan& plan, const MoveHooks& hooks, MoveCounts& counts, std::size_t files)
      : source_(source), plan_(plan), hooks_(hooks), counts_(counts), targets_(files) {}

  Status prepare(Fs& fs, const std::string& folder, std::span<const ReshardFile> files) {
    TITAN_RETURN_IF_ERROR(collect(files));
    for (std::size_t i = 0; i < files.size(); ++i) {
      TITAN_ASSIGN_OR_RETURN(targets_[i].writer, ShardWriter::create(fs, folder, files[i].path, std::move(pieces_[i])));
    }
    pieces_.clear();
    std::sort(leaves_.begin(), leaves_.end(), [](const Travelling& a, const Travelling& b) {
      return std::tie(a.from, a.row.offset) < std::tie(b.from, b.row.offset);
    });
    return ok_status();
  }

  Status run() {
    Helpers threads;
    for (std::uint32_t i = 1; i < plan_.threads && threads.start([this] { contained_work(); }); ++i) {}
    contained_work();
    threads.join();
    const MutexLock lock(mutex_);
    return error_;
  }

  std::vector<WrittenShard> take() {
    std::vector<WrittenShard> written;
    for (Target& target : targets_) written.push_back(std::move(target.written));
    return written;
  }

 private:
  struct Batch {
    std::size_t first = 0, end = 0;
    bool empty() const { return first == end; }
  };

  // Finds every leaf of the group in the tables of the source, one table at a time.
  Status collect(std::span<const ReshardFile> files) {
    struct Visit {
      std::uint32_t to, piece;
      const LeafMove* move;
    };
    std::map<std::uint32_t, std::vector<Visit>> visits;
    pieces_.resize(files.size());
    for (std::uint32_t to = 0; to < files.size(); ++to) {
      targets_[to].plan = &files[to];
      targets_[to].left = files[to].leaves;
      for (std::uint32_t piece = 0; piece < files[to].pieces.size(); ++piece) {
        const ReshardPiece& planned = files[to].pieces[piece];
        ShardPiece& shard = pieces_[to].emplace_back(planned.shard);
        if (shard.codec == Codec::kZstd) shard.stored.resize(shard.leaves.count);
        for (const LeafMove& move : planned.moves) visits[move.file].push_back({to, piece, &move});
      }
    }
    for (const auto& [file, list] : visits) {
      TITAN_ASSIGN_OR_RETURN(const std::vector<LeafRow> table, source_.table(file));
      for (const Visit& visit : list) {
        const ReshardPiece& planned = files[visit.to].pieces[visit.piece];
        ShardPiece& shard = pieces_[visit.to][visit.piece];
        const bool decode = visit.move->codec == Codec::kZstd && shard.codec == Codec::kRaw;
        const PieceLeaves leaves = source_.piece(planned.ref, visit.move->leaves.first);
        for (std::uint64_t i = 0; i < visit.move->leaves.count; ++i) {
          const LeafRow& row = table[visit.move->row + i];
          const std::uint64_t leaf = visit.move->leaves.first + i;
          TITAN_RETURN_IF_ERROR(source_.check_row(row, leaves, leaf));
          if (shard.codec == Codec::kZstd)
            shard.stored[leaf - shard.leaves.first] = {row.stored_bytes, row.filter_mask};
          leaves_.push_back({row, leaf, file, visit.to, visit.piece, decode});
        }
      }
    }
    return ok_status();
  }

  /// Takes the leaves of the next read; `done` is the number of raw bytes that this thread has moved since its last
  /// call.
  Batch next(std::uint64_t done) {
    const MutexLock lock(mutex_);
    if (done > 0 && hooks_.advanced) hooks_.advanced(done);
    if (stopped_ || next_ == leaves_.size()) return {};
    if (hooks_.check) {
      if (Status status = hooks_.check(); !status.ok()) {
        fail_locked(next_, std::move(status));
        return {};
      }
    }
    Batch batch{next_, next_ + 1};
    const Travelling& first = leaves_[batch.first];
    std::uint64_t end = first.row.offset + first.row.stored_bytes;
    while (batch.end < leaves_.size()) {
      const Travelling& leaf = leaves_[batch.end];
      const std::uint64_t leaf_end = leaf.row.offset + leaf.row.stored_bytes;
      if (leaf.from != first.from || leaf.row.offset > end + kReadThrough ||
          leaf_end - first.row.offset > plan_.buffer_bytes)
        break;
      end = std::max(end, leaf_end);
      ++batch.end;
    }
    next_ = batch.end;
    return batch;
  }

  // Of several failures, the first one in the order of the source is reported.
  void fail_locked(std::size_t at, Status status) TITAN_REQUIRES(mutex_) {
    stopped_ = true;
    if (error_.ok() || at < error_at_) {
      error_ = std::move(status);
      error_at_ = at;
    }
  }

  void contained_work() {
    Status status = contained([&] {
      work();
      return ok_status();
    });
    if (status.ok()) return;
    const MutexLock lock(mutex_);
    fail_locked(leaves_.size(), std::move(status));  // comes after failures that name a leaf
  }

  void work() {
    std::vector<std::byte> buffer(plan_.buffer_bytes), raw;
    LeafDecoder decoder;
    MoveCounts counts;
    std::uint64_t done = 0;
    for (Batch batch = next(done); !batch.empty(); batch = next(done)) {
      done = 0;
      if (Status status = move(batch, buffer, raw, decoder, counts, done); !status.ok()) {
        const MutexLock lock(mutex_);
        fail_locked(batch.first, std::move(status));
      }
    }
    const MutexLock lock(mutex_);
    counts_.leaves += counts.leaves;
    counts_.raw_bytes += counts.raw_bytes;
    counts_.reads += counts.reads;
    counts_.read_bytes += counts.read_bytes;
    counts_.decoded += counts.decoded;
  }

  Status move(Batch batch, std::span<std::byte> buffer, std::vector<std::byte>& raw, LeafDecoder& decoder,
              MoveCounts& counts, std::uint64_t& done) {
    const std::uint64_t begin = leaves_[batch.first].row.offset;
    std::uint64_t end = begin;
    for (std::size_t i = batch.first; i < batch.end; ++i)
      end = std::max(end, leaves_[i].row.offset + leaves_[i].row.stored_bytes);
    if (end - begin > buffer.size())
      return failed("a leaf of " + std::to_string(end - begin) + " bytes does not fit the buffer of " +
                    std::to_string(buffer.size()) + " bytes");
    const std::span<std::byte> bytes = buffer.first(end - begin);
    TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, source_.open(leaves_[batch.first].from));
    TITAN_RETURN_IF_ERROR(file->pread(begin, bytes));
    ++counts.reads;
    counts.read_bytes += bytes.size();
    const auto stored = [&](const Travelling& leaf) {
      return bytes.subspan(leaf.row.offset - begin, leaf.row.stored_bytes);
    };
    for (std::size_t i = batch.first; i < batch.end; ++i) {
      // For raw leaves the digest of the content equals that of the stored bytes.
      if (digest_of(stored(leaves_[i])) != leaves_[i].row.stored)
        return damaged("data do not match their digest", leaves_[i]);
    }
    for (std::size_t i = batch.first; i < batch.end;) {
      const std::size_t run_end = run_of(i, batch.end);
      TITAN_RETURN_IF_ERROR(leaves_[i].decode ? put_decoded(leaves_[i], stored(leaves_[i]), raw, decoder, counts)
                                              : put(i, run_end, bytes, begin));
      std::uint64_t run_bytes = 0;
      for (std::size_t k = i; k < run_end; ++k) run_bytes += leaves_[k].row.raw_bytes;
      done += run_bytes;
      counts.raw_bytes += run_bytes;
      counts.leaves += run_end - i;
      TITAN_RETURN_IF_ERROR(finish(leaves_[i].to, run_end - i));
      i = run_end;
    }
    return ok_status();
  }

  // The end of the leaves from `first` on that are adjacent in both files, so that one write is enough for them.
  std::size_t run_of(std::size_t first, std::size_t end) const {
    std::size_t next = first + 1;
    if (leaves_[first].decode) return next;
    for (; next < end; ++next) {
      const Travelling &before = leaves_[next - 1], &leaf = leaves_[next];
      const bool neighbours = leaf.to == before.to && leaf.piece == before.piece && leaf.leaf == before.leaf + 1 &&
                              leaf.row.offset == before.row.offset + before.row.stored_bytes;
      if (!neighbours || leaf.decode) break;
      const ShardWriter& writer = *targets_[leaf.to].writer;
      if (writer.offset(leaf.piece, leaf.leaf) != writer.offset(leaf.piece, before.leaf) + before.row.stored_bytes)
        break;
    }
    return next;
  }

  Status put(std::size_t first, std::size_t end, std::span<const std::byte> bytes, std::uint64_t begin) {
    std::vector<ShardWriter::LeafDigests> digests;
    for (std::size_t i = first; i < end; ++i) digests.push_back({leaves_[i].row.raw, leaves_[i].row.stored});
    const Travelling &head = leaves_[first], &tail = leaves_[end - 1];
    const std::uint64_t size = tail.row.offset + tail.row.stored_bytes - head.row.offset;
    return targets_[head.to].writer->put_run(head.piece, head.leaf, bytes.subspan(head.row.offset - begin, size),
                                             digests);
  }

  Status put_decoded(const Travelling& leaf, std::span<const std::byte> stored, std::vector<std::byte>& raw,
                     LeafDecoder& decoder, MoveCounts& counts) {
    const ShardPiece& piece = targets_[leaf.to].plan->pieces[leaf.piece].shard;
    const std::uint64_t size = dtype_size(piece.dtype);
    raw.resize(leaf.row.raw_bytes);
    if (Status status = decoder.decode(stored, leaf.row.filter_mask, size, piece.grid.chunk_extent() * size, raw);
        !status.ok()) {
      if (status.code != Code::kCorrupt) return status;
      return damaged(status.message, leaf);
    }
    ++counts.decoded;
    if (digest_of(raw) != leaf.row.raw) return damaged("decoded data do not match their digest", leaf);
    return targets_[leaf.to].writer->put(leaf.piece, leaf.leaf, raw, leaf.row.raw, leaf.row.raw);
  }

  // The thread that writes the last leaf of a file syncs it while the others continue.
  Status finish(std::uint32_t to, std::uint64_t leaves) {
    Target& target = targets_[to];
    if (target.left.fetch_sub(leaves) != leaves) return ok_status();
    TITAN_ASSIGN_OR_RETURN(target.written, target.writer->finish());
    target.writer.reset();
    return ok_status();
  }

  Status damaged(const std::string& what, const Travelling& leaf) const {
    const TensorRef& ref = targets_[leaf.to].plan->pieces[leaf.piece].ref;
    return source_.damaged(what, leaf.row, source_.piece(ref, leaf.leaf), leaf.leaf);
  }

  ShardReader& source_;
  const MovePlan& plan_;
  const MoveHooks& hooks_;
  MoveCounts& counts_;
  std::vector<Target> targets_;
  std::vector<std::vector<ShardPiece>> pieces_;  // until the writers take them
  std::vector<Travelling> leaves_;               // in the order of the source

  Mutex mutex_;
  std::size_t next_ TITAN_GUARDED_BY(mutex_) = 0;
  bool stopped_ TITAN_GUARDED_BY(mutex_) = false;
  Status error_ TITAN_GUARDED_BY(mutex_);
  std::size_t error_at_ TITAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<std::vector<WrittenShard>> LeafMover::run(const std::string& folder, std::span<const ReshardFile> files,
                                                 MoveCounts& counts) {
  Group group(source_, plan_, hooks_, counts, files.size());
  TITAN_RETURN_IF_ERROR(group.prepare(fs_, folder, files));
  TITAN_RETURN_IF_ERROR(group.run());
  return group.take();
}

}  // namespace titan::ckpt
