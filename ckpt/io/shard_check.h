#pragma once
// The check of one shard file against its digests, cut into runs of leaves that threads take one after another.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/io/leaf_check.h"
#include "ckpt/io/verifier.h"

namespace titan::ckpt {

inline constexpr std::uint64_t kCheckRun = std::uint64_t{4} << 20;  ///< bytes of leaves that are read at once

/// What check() and finish() read into: room for a run and for the rest of its first and last page, aligned.
class CheckBuffer {
 public:
  CheckBuffer();
  std::span<std::byte> bytes() { return {begin_, kCheckRun + 2 * kScanAlignment}; }

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_ = nullptr;
};

/// Feeds [begin, end) of `file` to `hasher`, one buffer at a time; `count` is told the bytes read.
Status hash_range(File& file, std::uint64_t begin, std::uint64_t end, std::span<std::byte> buffer, const std::function<void(std::uint64_t)>& count,
                  Hasher& hasher);

class ShardCheck {
 public:
  /// The pieces that lie in the shard, in any order.
  using Pieces = std::vector<std::pair<TensorRef, const Piece*>>;
  using Count = std::function<void(std::uint64_t bytes)>;  ///< told of bytes read; thread-safe

  /// One leaf of the shard: what the manifest says about it. Where a compressed one lies is its row's business; one whose row
  /// cannot be is lost, and its place is that row.
  struct Expected {
    TensorRef ref;
    std::uint64_t leaf = 0, offset = 0, bytes = 0, row = 0;
    bool compressed = false, first = false;  ///< first of its piece
    CompressedLeaf form = {};
    bool lost = false;
  };
  /// Rows [begin, end) of the leaf table, whose leaves lie side by side and have kCheckRun bytes at most, or one larger leaf.
  struct Run {
    std::size_t begin = 0, end = 0;
  };

  /// Reads the leaf table of file `index`. The manifest outlives this. \error kFailed, kCorrupt (it cannot be read)
  static Result<std::unique_ptr<ShardCheck>> open(Fs& fs, const std::string& folder, const Manifest& manifest, std::uint32_t index, const Pieces& pieces,
                                                  const Count& count);

  /// Hands out the next run; false at the end. One caller at a time.
  bool next(Run& run);
  /// Reads and hashes the leaves of `run`, decodes compressed ones with the caller's `reader`. Thread-safe for different runs.
  /// \error kFailed, kCorrupt (they cannot be read)
  Status check(const Run& run, std::span<std::byte> buffer, CompressedLeafReader& reader, const Count& count);
  /// After all runs: compares with the table, hashes what is outside of leaves and table, and appends the damage in order.
  Status finish(std::span<std::byte> buffer, const Count& count, std::vector<Damage>& damage);

  const std::vector<Expected>& leaves() const { return leaves_; }
  /// After finish(): the rows as stored, empty when the table is damaged.
  const std::vector<LeafRow>& proven_rows() const { return proven_; }

 private:
  ShardCheck(const Manifest& manifest, std::uint32_t index) : manifest_(manifest), file_(manifest.files[index]) {}
  void expect(const Pieces& pieces);
  void locate_compressed();
  LeafRow check_leaf(const Expected& leaf, std::span<const std::byte> bytes, CompressedLeafReader& reader) const;

  const Manifest& manifest_;
  const FileEntry& file_;
  std::unique_ptr<File> handle_;
  std::vector<std::byte> table_;
  std::vector<LeafRow> stored_, actual_, proven_;  // by row: as stored, and from the bytes that are there
  std::vector<Expected> leaves_;                   // by row
  std::size_t next_ = 0;
};

}  // namespace titan::ckpt
