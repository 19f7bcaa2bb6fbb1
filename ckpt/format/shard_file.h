#pragma once
// The structure of a shard file, which depends only on its pieces. Bytes of leaves are not written through libhdf5.
// \source FORMAT.md, "Shard file"; HDF5 File Format Specification 3.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"
#include "ckpt/format/leaf_table.h"
#include "ckpt/model/codec.h"
#include "ckpt/model/dtype.h"
#include "ckpt/model/leaf.h"

namespace titan::ckpt {

/// Stored length of a compressed leaf in bytes, and HDF5's mask of the filters that were skipped for it.
struct StoredLeaf {
  std::uint64_t bytes = 0;
  std::uint32_t filter_mask = 0;
  bool operator==(const StoredLeaf&) const = default;
};

/// One dataset of a shard: consecutive leaves of one stored tensor.
struct ShardPiece {
  std::string tensor;  ///< stored name
  DType dtype = DType::kF32;
  LeafGrid grid;     ///< the grid of the whole tensor
  LeafRange leaves;  ///< not empty
  Codec codec = Codec::kRaw;
  std::vector<StoredLeaf> stored = {};  ///< kZstd: one per leaf; empty for kRaw
  std::uint64_t elements() const { return grid.begin(leaves.end()) - grid.begin(leaves.first); }
  std::uint64_t bytes() const { return elements() * dtype_size(dtype); }  ///< uncompressed
  std::uint64_t raw_bytes(std::uint64_t leaf) const { return grid.length(leaf) * dtype_size(dtype); }
  std::uint64_t chunk_bytes() const { return grid.chunk_extent() * dtype_size(dtype); }
  /// Bytes of leaf `leaf` in the file. For kZstd, `stored` must be set.
  std::uint64_t stored_bytes(std::uint64_t leaf) const {
    return codec == Codec::kRaw ? raw_bytes(leaf) : stored[leaf - leaves.first].bytes;
  }
  bool operator==(const ShardPiece&) const = default;
};

/// A shard file without its leaves and leaf table.
struct ShardSkeleton {
  struct Extent {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  std::uint64_t file_bytes = 0;
  std::vector<Extent> metadata;        ///< ascending, disjoint; all other bytes outside leaves and table are zeros
  std::vector<std::uint64_t> offsets;  ///< offset of each piece's first leaf
  std::vector<std::vector<std::uint64_t>> leaf_offsets;  ///< per compressed piece: offset of every leaf; empty for a
                                                         ///< raw piece
  std::uint64_t table_offset = 0;
  std::uint64_t table_rows = 0;
  /// Offset of leaf `leaf` (its index in the tensor), which is in piece `p`.
  std::uint64_t leaf_offset(const std::vector<ShardPiece>& pieces, std::size_t p, std::uint64_t leaf) const;
};

/// Offset of the first leaf in a shard with compressed pieces. Such a shard is laid out as a stream: all leaves in the
/// order of the pieces without gaps, then the table and metadata. So the offset of a leaf depends only on the lengths
/// of the leaves before it.
inline constexpr std::uint64_t kStreamBegin = 4096;
bool is_stream(const std::vector<ShardPiece>& pieces);  ///< true if any piece is compressed

/// The name `tensor` with '%' and '/' written as "%25" and "%2F".
std::string escaped_name(const std::string& tensor);
/// "<tensor>@<first leaf>", with escaped_name() of the tensor.
std::string dataset_name(const std::string& tensor, std::uint64_t first_leaf);

/// Lays out a shard file for `pieces` in this order. Deterministic for one version of libhdf5. Holds a process-wide
/// lock during the call.
/// \error kInvalid (no pieces, empty pieces, leaves beyond the grid, impossible stored lengths or masks of compressed
/// leaves), kFailed (libhdf5, equal pieces)
Result<ShardSkeleton> make_skeleton(const std::vector<ShardPiece>& pieces);

/// A half-open byte range of a file.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
};

/// Returns [0, file_bytes) minus `covered`, in ascending order. `covered` may be unsorted, and may touch or overlap.
std::vector<ByteRange> uncovered(std::vector<ByteRange> covered, std::uint64_t file_bytes);

/// Digest of all bytes of the skeleton's file that are in neither a piece nor the table.
Digest envelope_digest(const ShardSkeleton& skeleton, const std::vector<ShardPiece>& pieces);

}  // namespace titan::ckpt
