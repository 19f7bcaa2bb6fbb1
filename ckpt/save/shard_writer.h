#pragma once
// Writes one shard file: the skeleton of shard_file.h, the leaves, the leaf table. write_shard() fetches raw leaves one
// after another and encodes them. ShardWriter takes stored leaves of known lengths, in any order, from any thread.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/format/leaf_table.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/model/read_back.h"

namespace titan::ckpt {

class Fs;

/// Returns the raw bytes of leaf `leaf` of piece `piece`; TensorSource::leaf says how long they are valid. Called from
/// the thread that called write_shard, in order of pieces and leaves.
using LeafProvider = std::function<Result<std::span<const std::byte>>(std::size_t piece, std::uint64_t leaf,
                                                                      std::span<std::byte> scratch)>;

/// A finished shard: its entries for the manifest.
struct WrittenShard {
  FileEntry file;
  std::vector<Piece> pieces;                ///< one per given piece; their `file` is 0
  std::vector<std::vector<Digest>> leaves;  ///< per piece: digests of the leaves' raw bytes
};

struct ShardWriteOptions {
  unsigned threads = 1;                 ///< threads that hash, encode and write; 1: only the calling thread
  bool prove = true;                    ///< decode each compressed leaf and compare it before it is written
  ReadBack read_back = ReadBack::kOff;  ///< how much of the finished file is read back
};

/// Creates `<folder>/<member>`, writes every leaf, then the leaf table, makes the file durable and closes it. Leaves of
/// kZstd pieces are encoded (their `stored` is ignored). Equal input gives equal bytes for any number of threads. Holds
/// 4 T + 1 leaves in memory for T threads. The folder is not synced.
/// \error kFailed (I/O, zstd, a leaf of the wrong size, as read_back()), kInvalid (no pieces; a compressed chunk larger
/// than kMaxChunkBytes), the errors of `leaf`
Result<WrittenShard> write_shard(Fs& fs, const std::string& folder, const std::string& member,
                                 const std::vector<ShardPiece>& pieces, const LeafProvider& leaf,
                                 const ShardWriteOptions& options = {});

/// A shard whose stored lengths are known in advance: raw pieces, and compressed leaves that are moved without
/// decoding. put() takes leaves in any order and is thread-safe for different leaves.
class ShardWriter {
 public:
  /// Creates `<folder>/<member>` at its full size with all bytes except leaves and table. kZstd pieces need `stored`.
  /// \error kInvalid (as make_skeleton), kFailed (I/O)
  static Result<std::unique_ptr<ShardWriter>> create(Fs& fs, const std::string& folder, const std::string& member,
                                                     std::vector<ShardPiece> pieces);
  /// Opens a file that create() made for the same pieces in another process of this host, to put further leaves into
  /// it. \error kNotFound, kFailed
  static Result<std::unique_ptr<ShardWriter>> join(Fs& fs, const std::string& folder, const std::string& member,
                                                   std::vector<ShardPiece> pieces);
  /// Closes the file and drops errors. A file that was not finished stays until its temporary folder is removed.
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  const std::vector<ShardPiece>& pieces() const;
  std::uint64_t offset(std::size_t piece, std::uint64_t leaf) const;  ///< offset in the file, in bytes; `leaf` is its
                                                                      ///< index in the tensor
  std::uint64_t stored_bytes(std::size_t piece, std::uint64_t leaf) const;  ///< the length that put() expects

  /// Writes the stored bytes of one leaf. `raw` and `stored` are the digests for its row in the leaf table; the caller
  /// must have checked that `bytes` has the digest `stored`. For adjacent leaves, put_run() needs only one write.
  /// \error kFailed (I/O, another length than stored_bytes(), a leaf that was put before)
  Status put(std::size_t piece, std::uint64_t leaf, std::span<const std::byte> bytes, const Digest& raw,
             const Digest& stored);

  struct LeafDigests {
    Digest raw, stored;
  };
  /// As put(), for the `digests.size()` leaves from `first` on, whose stored bytes follow each other in `bytes` without
  /// gaps. In every file that this class or write_shard() makes, the leaves of a piece are adjacent.
  Status put_run(std::size_t piece, std::uint64_t first, std::span<const std::byte> bytes,
                 std::span<const LeafDigests> digests);

  /// Records a whole piece that another process has put after join() and made durable. `placed` and `digests` (of the
  /// leaves' raw bytes) are from that process's receipt. \error kFailed (another place or number of leaves than in this
  /// file, a leaf that was put before)
  Status take_over(std::size_t piece, const Piece& placed, const std::vector<Digest>& digests);
  /// The place of a piece, and the digests of its leaves' raw bytes. All of these leaves must have been put.
  Result<std::pair<Piece, std::vector<Digest>>> placed(std::size_t piece) const;
  /// Ends the work of a process that called join(): makes its leaves durable and closes the file. Call it once. \error
  /// kFailed
  Status leave();
  /// The rows of the leaf table; rows of leaves that were not put are empty.
  std::span<const LeafRow> rows() const;

  /// Writes the leaf table, makes the file durable and closes it. Call it once. \error kFailed (I/O, or a leaf that was
  /// never put, which the message names)
  Result<WrittenShard> finish();

 private:
  friend Result<WrittenShard> write_shard(Fs&, const std::string&, const std::string&, const std::vector<ShardPiece>&,
                                          const LeafProvider&, const ShardWriteOptions&);
  struct Impl;
  explicit ShardWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::ckpt
