#pragma once
// The check of one shard file against its digests, cut into runs of leaves that threads take one after another. Of the
// leaf table only a window is in memory.
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

inline constexpr std::uint64_t kCheckRun = std::uint64_t{4} << 20;  ///< bytes of leaves that are read at once

/// Feeds [begin, end) of `file` to `hasher`, one buffer at a time; `count` is told the bytes read.
Status hash_range(File& file, std::uint64_t begin, std::uint64_t end, std::span<std::byte> buffer,
                  const std::function<void(std::uint64_t)>& count, Hasher& hasher);

/// Decodes compressed leaves that are larger than most, for all threads: such a leaf and its frame may take 128 MiB.
struct LargeLeafReader {
  Mutex mutex;
  LeafReader reader TITAN_GUARDED_BY(mutex);
};

/// Places that were found wrong, up to a bound; thread-safe.
class PlaceList {
 public:
  /// `room`: how many more may be named, shared between lists.
  explicit PlaceList(std::atomic<std::int64_t>& room) : room_(room) {}
  /// `order` decides the place in the list.
  void add(std::uint64_t order, Damage damage);
  /// Moves the places out, in order; adds those that were not named to `left_out`.
  void take(std::vector<Damage>& places, std::uint64_t& left_out);

 private:
  std::atomic<std::int64_t>& room_;
  Mutex mutex_;
  std::vector<std::pair<std::uint64_t, Damage>> places_ TITAN_GUARDED_BY(mutex_);
  std::uint64_t left_out_ TITAN_GUARDED_BY(mutex_) = 0;
};

/// What a thread works with.
struct CheckTools {
  AlignedBuffer buffer{kCheckRun + 2 * kScanAlignment};  // a run, and the rest of its first and last page
  LeafReader reader;
  LargeLeafReader* large = nullptr;
  std::function<void(std::uint64_t bytes)> count;  ///< told of bytes read; thread-safe
};

/// It hands out runs of leaves to one caller at a time, and checks them in many threads; both need the same tables.
class ShardCheck {
 public:
  /// The pieces that lie in the shard, in any order.
  using Pieces = std::vector<std::pair<TensorRef, const Piece*>>;

  /// What the manifest says about one leaf of the shard. The row of the table says where a compressed leaf lies. A leaf
  /// whose row is impossible is lost; its place is then the row itself.
  struct Expected {
    const TensorRef* ref = nullptr;
    std::uint64_t leaf = 0, row = 0;
    LeafPlace place;
    std::uint64_t offset = 0, bytes = 0;
    bool lost = false;
    bool compressed() const { return place.codec == Codec::kZstd; }
  };
  /// Some rows of the table, and their leaves.
  struct Window {
    std::vector<LeafRow> rows;
    std::vector<Expected> leaves;
  };
  /// Leaves [begin, end) of a window, which lie side by side and have kCheckRun bytes at most, or one larger leaf.
  /// Without a window: all leaves of the shard, one after the other.
  struct Run {
    std::shared_ptr<const Window> window;
    std::size_t begin = 0, end = 0;
  };

  /// Opens file `index` and reads its leaf table through. The manifest and `pieces` outlive this. \error kMediaError
  /// (its leaves cannot be checked), kFailed, kCorrupt (it cannot be read)
  static Result<std::unique_ptr<ShardCheck>> open(Fs& fs, const std::string& folder, const Manifest& manifest,
                                                  std::uint32_t index, Pieces& pieces,
                                                  const std::function<void(std::uint64_t)>& count,
                                                  std::atomic<std::int64_t>& room);

  /// Hands out the next run; false at the end. One caller at a time. \error as check
  Result<bool> next(Run& run);
  /// Reads and hashes the leaves of `run`, and decodes compressed ones. A leaf that the store cannot give back is
  /// noted, no error. Thread-safe for different runs. \error kFailed, kCorrupt (they cannot be read)
  Status check(const Run& run, CheckTools& tools);
  /// After all runs: hashes what is outside of leaves and table, and appends the damage in order.
  Status finish(CheckTools& tools, std::vector<Damage>& damage, std::vector<Damage>& unreadable,
                std::uint64_t& left_out);

  std::uint64_t leaves() const { return file_.table_rows; }

 private:
  using Seen = std::function<void(std::size_t index, const LeafRow& actual)>;

  ShardCheck(const Manifest& manifest, std::uint32_t index, Pieces& pieces, std::atomic<std::int64_t>& room)
      : manifest_(manifest), file_(manifest.files[index]), pieces_(pieces), damaged_(room), unreadable_(room) {}
  Result<std::shared_ptr<const Window>> next_window();
  Expected expected(std::uint64_t row, const LeafRow& stored);
  void cover(std::uint64_t begin, std::uint64_t end);
  bool compressed() const;  ///< whether it has a piece whose places only the rows know
  bool next_run(Run& run) const;
  Status check_rebuilding(CheckTools& tools);
  Status read_run(const Run& run, CheckTools& tools, const Seen& seen);
  Status read_leaf(const Expected& leaf, const LeafRow& row, CheckTools& tools,
                   const std::function<void(const LeafRow&)>& seen);
  LeafRow measure(const Expected& leaf, const LeafRow& row, std::span<const std::byte> bytes, CheckTools& tools) const;
  void add_damaged(const Expected& leaf, const char* what);
  void add_unreadable(const Expected& leaf, const Status& why);

  const Manifest& manifest_;
  const FileEntry& file_;
  const Pieces& pieces_;  // by row
  std::unique_ptr<File> handle_;
  bool table_intact_ = false;

  std::size_t piece_ = 0;  // of the next row
  std::uint64_t next_row_ = 0;
  Run at_;                          // the end of what was handed out
  std::vector<ByteRange> covered_;  // leaves and table; neighbours are one
  bool scattered_ = false;          // too many ranges to keep
  bool some_lost_ = false;

  // Where the table is damaged, all is checked in one run.
  bool all_handed_out_ = false, leaves_intact_ = true, places_known_ = true;

  PlaceList damaged_, unreadable_;
};

}  // namespace titan::ckpt
