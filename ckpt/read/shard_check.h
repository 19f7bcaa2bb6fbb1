#pragma once
// Checks one shard file against its digests. The work is divided into runs of leaves, which threads take one by one.
// Only a part of the leaf table, the window, is in memory.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/read/shard_reader.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

inline constexpr std::uint64_t kCheckRun = std::uint64_t{4} << 20;  ///< bytes of leaves per read call

/// Hashes bytes [begin, end) of `file` with `hasher`, reading through `buffer`. Calls `count` with the number of bytes
/// after each read.
Status hash_range(File& file, std::uint64_t begin, std::uint64_t end, std::span<std::byte> buffer,
                  const std::function<void(std::uint64_t)>& count, Hasher& hasher);

/// Decodes compressed leaves that are too large for the buffer of a thread. All threads share this reader, one leaf at
/// a time, because such a leaf and its frame may take 128 MiB.
struct LargeLeafReader {
  Mutex mutex;
  LeafReader reader TITAN_GUARDED_BY(mutex);
};

/// A list of damaged or unreadable units, up to a limit; thread-safe.
class PlaceList {
 public:
  /// `room`: how many more units may be listed; several lists share it.
  explicit PlaceList(std::atomic<std::int64_t>& room) : room_(room) {}
  /// Adds `damage`, or only counts it if there is no room. take() returns units in ascending `order`.
  void add(std::uint64_t order, Damage damage);
  /// Appends the units to `places`, sorted, and empties this list. Adds the number of units beyond the limit to
  /// `left_out`.
  void take(std::vector<Damage>& places, std::uint64_t& left_out);

 private:
  std::atomic<std::int64_t>& room_;
  Mutex mutex_;
  std::vector<std::pair<std::uint64_t, Damage>> places_ TITAN_GUARDED_BY(mutex_);
  std::uint64_t left_out_ TITAN_GUARDED_BY(mutex_) = 0;
};

/// What each thread needs to check runs.
struct CheckTools {
  AlignedBuffer buffer{kCheckRun + 2 * kScanAlignment};  // a run, plus the partial pages at its ends
  LeafReader reader;
  LargeLeafReader* large = nullptr;
  std::function<void(std::uint64_t bytes)> count;  ///< called with the number of bytes read; thread-safe
};

/// The check of one shard. One thread at a time gets a run of leaves from next(); many threads may check() runs at the
/// same time. At the end one thread calls finish(). It has many members because one pass through the file needs them
/// all: the next row, the byte ranges covered so far, what the table lacks, the units found.
class ShardCheck {
 public:
  /// The pieces of the shard, in any order; open() sorts them by row.
  using Pieces = std::vector<std::pair<TensorRef, const Piece*>>;

  /// What the manifest says about one leaf of the shard. The offset of a compressed leaf comes from its row in the
  /// table. A leaf is `lost` if its row is impossible; `offset` and `bytes` are then those of the row.
  struct Expected {
    const TensorRef* ref = nullptr;
    std::uint64_t leaf = 0, row = 0;
    LeafPlace place;
    std::uint64_t offset = 0, bytes = 0;
    bool lost = false;
    bool compressed() const { return place.codec == Codec::kZstd; }
  };
  /// Consecutive rows of the table, and their leaves.
  struct Window {
    std::vector<LeafRow> rows;
    std::vector<Expected> leaves;
  };
  /// Leaves [begin, end) of a window: adjacent leaves of at most kCheckRun bytes in total, or one larger leaf. Without
  /// a window (the table is damaged): all leaves of the shard.
  struct Run {
    std::shared_ptr<const Window> window;
    std::size_t begin = 0, end = 0;
  };

  /// Opens file `index` of `manifest` and computes the digest of its leaf table. The manifest and `pieces` must outlive
  /// the result. `count` gets the number of bytes read; `room` as in PlaceList.
  /// \error kMediaError (the leaves cannot be checked), kFailed, kCorrupt (the file cannot be read)
  static Result<std::unique_ptr<ShardCheck>> open(Fs& fs, const std::string& folder, const Manifest& manifest,
                                                  std::uint32_t index, Pieces& pieces,
                                                  const std::function<void(std::uint64_t)>& count,
                                                  std::atomic<std::int64_t>& room);

  /// Sets `run` to the next run; returns false at the end. One caller at a time. \error as check()
  Result<bool> next(Run& run);
  /// Reads and hashes the leaves of `run`, and decodes compressed ones. A leaf that the store cannot return is recorded
  /// as unreadable and is not an error. Thread-safe for different runs. \error kFailed, kCorrupt (the leaves cannot be
  /// read)
  Status check(const Run& run, CheckTools& tools);
  /// Call this after all runs. Hashes all bytes outside leaves and table, and appends the units found to `damage` and
  /// `unreadable` in the order of the file; `left_out` as in PlaceList::take().
  Status finish(CheckTools& tools, std::vector<Damage>& damage, std::vector<Damage>& unreadable,
                std::uint64_t& left_out);

  std::uint64_t leaves() const { return file_.table_rows; }

 private:
  using LeafVisitor = std::function<void(std::size_t index, const LeafRow& actual)>;

  ShardCheck(const Manifest& manifest, std::uint32_t index, Pieces& pieces, std::atomic<std::int64_t>& room)
      : manifest_(manifest), file_(manifest.files[index]), pieces_(pieces), damaged_(room), unreadable_(room) {}
  Result<std::shared_ptr<const Window>> next_window();
  Expected expected(std::uint64_t row, const LeafRow& stored);
  void cover(std::uint64_t begin, std::uint64_t end);
  bool compressed() const;  ///< whether any piece is compressed: then only the table rows give the offsets
  bool next_run(Run& run) const;
  Status check_rebuilding(CheckTools& tools);
  Status read_run(const Run& run, CheckTools& tools, const LeafVisitor& seen);
  Status read_leaf(const Expected& leaf, const LeafRow& row, CheckTools& tools,
                   const std::function<void(const LeafRow&)>& seen);
  LeafRow measure(const Expected& leaf, const LeafRow& row, std::span<const std::byte> bytes, CheckTools& tools) const;
  void add_damaged(const Expected& leaf, const char* what);
  void add_unreadable(const Expected& leaf, const Status& why);

  const Manifest& manifest_;
  const FileEntry& file_;
  const Pieces& pieces_;  // sorted by row
  std::unique_ptr<File> handle_;
  bool table_intact_ = false;

  std::size_t piece_ = 0;  // the piece that the next row belongs to
  std::uint64_t next_row_ = 0;
  Run at_;                          // the run that next() returned last
  std::vector<ByteRange> covered_;  // leaves and table; adjacent ranges are merged
  bool scattered_ = false;          // there are too many ranges to keep
  bool some_lost_ = false;

  // For a damaged table, whose leaves a single run checks.
  bool all_handed_out_ = false, leaves_intact_ = true, places_known_ = true;

  PlaceList damaged_, unreadable_;
};

}  // namespace titan::ckpt
