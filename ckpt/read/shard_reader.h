#pragma once
// Reads stored leaves. Opens the shards of a checkpoint, checks their leaf tables and rows, and reads leaves as stored
// or decoded. Checks a table in parts, so that a false table length in a manifest costs no memory.
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/path.h"
#include "ckpt/format/leaf_codec.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

class File;
struct FileInfo;
class Fs;

inline constexpr std::uint64_t kRowsAtOnce = 16384;  ///< 1 MiB of the table

/// Refuses a table of more than 64 MiB in a file that has no bytes on disk (a sparse file): reading its zeros could
/// take days. \error kCorrupt
Status check_table_on_disk(const FileEntry& entry, const FileInfo& info, const std::string& path);
/// The digest of the leaf table of `entry` as stored in `file`, read in parts. \error as File::pread
Result<Digest> table_digest(File& file, const FileEntry& entry);
/// Reads rows [first, first + count) of the table, which must exist. \error as File::pread
Result<std::vector<LeafRow>> read_rows(File& file, const FileEntry& entry, std::uint64_t first, std::uint64_t count);

/// What the manifest says about a leaf of a shard.
struct LeafPlace {
  std::uint64_t raw_bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t element_size = 0;
  Codec codec = Codec::kRaw;
  /// Offset in the file; nullopt if only the leaf's table row gives it (compressed leaves after the first of a piece).
  std::optional<std::uint64_t> offset;
};

/// Whether `row` is possible for the leaf at `place` in a file of `file_bytes` bytes. Call this before reading or
/// allocating anything for the row.
bool row_fits(const LeafRow& row, const LeafPlace& place, std::uint64_t file_bytes);

/// A piece with the places of its leaves. The manifest must outlive this object.
class PieceLeaves {
 public:
  PieceLeaves(const Manifest& manifest, const TensorRef& ref, const Piece& piece);
  /// The place of leaf `leaf` (its index in the tensor), which must be in the piece.
  LeafPlace at(std::uint64_t leaf) const;
  /// Uncompressed bytes of `leaves`.
  std::uint64_t bytes(LeafRange leaves) const {
    return (grid_.begin(leaves.end()) - grid_.begin(leaves.first)) * size_;
  }
  const TensorRef& ref() const { return ref_; }
  const Piece& piece() const { return piece_; }

 private:
  const TensorRef& ref_;
  const Piece& piece_;
  LeafGrid grid_;
  std::uint64_t size_;
};

/// Decodes leaves and computes their digests. Each thread needs its own object.
class LeafReader {
 public:
  /// Reads and decodes the compressed leaf of `row` into `raw`, and checks the raw digest. row_fits() must hold.
  /// \error kCorrupt (not a frame, or another digest; the message does not name the leaf), kMediaError, kFailed
  Status read(File& file, const LeafRow& row, const LeafPlace& place, std::span<std::byte> raw);
  /// Reads the stored bytes and returns the row that describes them; the returned row equals `row` if the leaf is
  /// undamaged. row_fits() must hold. For bytes that cannot be decoded, the raw digest differs from that of `row`.
  /// \error kMediaError, kFailed
  Result<LeafRow> measure(File& file, const LeafRow& row, const LeafPlace& place);
  /// As the other measure(), for stored bytes that are already in memory.
  LeafRow measure(std::span<const std::byte> stored, const LeafRow& row, const LeafPlace& place);
  /// Aligned memory of `bytes` bytes, valid until the next call.
  std::span<std::byte> block(std::size_t bytes);

 private:
  LeafDecoder decoder_;
  std::optional<AlignedBuffer> block_;
  std::vector<std::byte> stored_;
};

/// The shards of a checkpoint. Thread-safe.
class ShardReader {
 public:
  /// `manifest` must outlive the reader.
  ShardReader(Fs& fs, std::string folder, const Manifest& manifest)
      : fs_(fs), folder_(std::move(folder)), manifest_(manifest) {}

  /// Number of leaf tables in memory; only open files have one.
  std::size_t tables_held();
  /// Opens shard `file`, or returns its handle if it is open. Files stay open, up to a limit.
  Result<std::shared_ptr<File>> open(std::uint32_t file);
  /// Reads the leaf table of shard `file` and checks it against its digest. \error kCorrupt, kFailed, kNotFound,
  /// kMediaError
  Result<std::vector<LeafRow>> table(std::uint32_t file);
  /// The piece of `ref` that contains leaf `leaf` (its index in the tensor).
  PieceLeaves piece(const TensorRef& ref, std::uint64_t leaf) const;
  /// Checks that `row` is possible for leaf `leaf`. \error kCorrupt, which names the leaf
  Status check_row(const LeafRow& row, const PieceLeaves& leaves, std::uint64_t leaf) const;
  /// A kCorrupt error: "<what>: leaf 3 of tensor 'x' in y, offset 0, 16 bytes".
  Status damaged(const std::string& what, const LeafRow& row, const PieceLeaves& leaves, std::uint64_t leaf) const;
  /// Reads `leaves` of `piece` into `out` (exactly their raw bytes) and checks each leaf against its digest. Small
  /// tables are kept while their file is open. \error kCorrupt, which names file, tensor, leaf and offset; kFailed,
  /// kNotFound, kMediaError
  Status read(const TensorRef& ref, const Piece& piece, LeafRange leaves, std::span<std::byte> out);

 private:
  using Rows = std::vector<LeafRow>;

  std::string file_path(std::uint32_t file) const { return join_path(folder_, manifest_.files[file].path); }
  Status check_table(File& handle, std::uint32_t file) const;
  Result<std::shared_ptr<const Rows>> kept_table(std::uint32_t file, File& handle);
  Result<Rows> rows(std::uint32_t file, File& handle, std::uint64_t first, std::uint64_t count);
  Status read_part(const PieceLeaves& place, LeafRange leaves, std::span<std::byte> out);
  Status read_run(File& file, const PieceLeaves& place, std::span<const LeafRow> rows, LeafRange leaves,
                  std::span<std::byte> out);
  Status read_raw(File& file, const PieceLeaves& place, const Rows& rows, LeafRange leaves, std::span<std::byte> out);
  Status read_compressed(File& file, const PieceLeaves& place, const Rows& rows, LeafRange leaves,
                         std::span<std::byte> out);
  std::unique_ptr<LeafReader> borrow_reader();
  void give_back(std::unique_ptr<LeafReader> reader);

  Fs& fs_;
  std::string folder_;
  const Manifest& manifest_;

  Mutex table_mutex_;  ///< held while a table is read; taken before mutex_
  Mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<File>> open_files_ TITAN_GUARDED_BY(mutex_);
  std::list<std::uint32_t> open_order_ TITAN_GUARDED_BY(mutex_);
  // Tables of open files, checked against their digests; empty: too long to keep.
  std::map<std::uint32_t, std::shared_ptr<const Rows>> tables_ TITAN_GUARDED_BY(mutex_);
  // Readers that no thread uses; at most as many as threads have read at the same time.
  std::vector<std::unique_ptr<LeafReader>> idle_readers_ TITAN_GUARDED_BY(mutex_);
};

}  // namespace titan::ckpt
