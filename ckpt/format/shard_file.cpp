#include "ckpt/format/shard_file.h"

#include <algorithm>
#include <utility>

#include "ckpt/format/hdf5_library.h"
#include "ckpt/format/memory_image.h"

namespace titan::ckpt {
namespace {

constexpr H5Z_filter_t kZstdFilter = 32015;

// Chunks are written already filtered, so this filter never runs. libhdf5 writes a filter's number only if it knows the
// filter.
std::size_t no_filter(unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*, void**) { return 0; }

bool know_zstd_filter() {
  static constexpr H5Z_class2_t filter{H5Z_CLASS_T_VERS, kZstdFilter, 1, 1, "zstd", nullptr, nullptr, no_filter};
  return H5Zfilter_avail(kZstdFilter) > 0 || H5Zregister(&filter) >= 0;
}

Hdf5Handle make_row_type() {
  Hdf5Handle type(H5Tcreate(H5T_COMPOUND, kLeafRowBytes), H5Tclose);
  const hsize_t digest_bytes[] = {16};
  const Hdf5Handle digest(H5Tarray_create2(H5T_STD_U8LE, 1, digest_bytes), H5Tclose);
  const bool ok =
      type.ok() && digest.ok() && H5Tinsert(type, "offset", 0, H5T_STD_U64LE) >= 0 &&
      H5Tinsert(type, "stored_bytes", 8, H5T_STD_U64LE) >= 0 && H5Tinsert(type, "raw_bytes", 16, H5T_STD_U64LE) >= 0 &&
      H5Tinsert(type, "filter_mask", 24, H5T_STD_U32LE) >= 0 && H5Tinsert(type, "reserved", 28, H5T_STD_U32LE) >= 0 &&
      H5Tinsert(type, "raw", 32, digest) >= 0 && H5Tinsert(type, "stored", 48, digest) >= 0;
  if (!ok) return {-1, H5Tclose};
  return type;
}

// The length of a dataset, and how it is stored: contiguous, or in compressed chunks.
struct Layout {
  std::uint64_t length = 0;
  std::uint64_t most = 0;   // greatest length
  std::uint64_t chunk = 0;  // 0: contiguous
};

Result<Hdf5Handle> create_dataset(hid_t file, const std::string& name, hid_t type, const Layout& layout) {
  const hsize_t dims[] = {layout.length}, most[] = {layout.most}, chunk[] = {layout.chunk};
  const Hdf5Handle space(H5Screate_simple(1, dims, most), H5Sclose);
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Hdf5Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const bool ready = space.ok() && creation.ok() && link.ok() && H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0 &&
                     H5Pset_obj_track_times(creation, 0) >= 0 && H5Pset_char_encoding(link, H5T_CSET_UTF8) >= 0;
  const auto set_layout = [&] {
    if (layout.chunk == 0)
      return H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0;
    return H5Pset_chunk(creation, 1, chunk) >= 0 && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR) >= 0 &&
           H5Pset_shuffle(creation) >= 0 && know_zstd_filter() &&
           H5Pset_filter(creation, kZstdFilter, H5Z_FLAG_MANDATORY, 0, nullptr) >= 0;
  };
  if (!ready || !set_layout()) return hdf5_failed("prepare dataset '" + name + "'");
  Hdf5Handle dataset(H5Dcreate2(file, name.c_str(), type, space, link, creation, H5P_DEFAULT), H5Dclose);
  if (!dataset.ok()) return hdf5_failed("create dataset '" + name + "'");
  return dataset;
}

// Creates one early-allocated contiguous dataset and returns its address.
Result<std::uint64_t> make_contiguous(hid_t file, const std::string& name, hid_t type, std::uint64_t length) {
  TITAN_ASSIGN_OR_RETURN(const Hdf5Handle dataset, create_dataset(file, name, type, {length, length, 0}));
  const haddr_t address = H5Dget_offset(dataset);
  if (address == HADDR_UNDEF) return hdf5_failed("allocate dataset '" + name + "'");
  return static_cast<std::uint64_t>(address);
}

// Creates a chunked dataset. libhdf5 writes placeholders of the stored lengths, consecutive from `at` on. The image
// keeps only their addresses. Returns the address of each chunk.
Result<std::vector<std::uint64_t>> make_chunked(hid_t file, MemoryImage& image, const ShardPiece& piece, hid_t type,
                                                std::uint64_t at, const std::vector<std::byte>& placeholder) {
  const std::string name = dataset_name(piece.tensor, piece.leaves.first);
  const std::uint64_t chunk = piece.grid.chunk_extent();
  TITAN_ASSIGN_OR_RETURN(const Hdf5Handle dataset,
                         create_dataset(file, name, type, {piece.elements(), piece.leaves.count * chunk, chunk}));
  std::vector<std::uint64_t> addresses;
  addresses.reserve(piece.stored.size());
  for (const StoredLeaf& leaf : piece.stored) {
    image.raw_at = at;
    image.raw_writes.clear();
    const hsize_t origin[] = {addresses.size() * chunk};
    const bool written =
        H5Dwrite_chunk(dataset, H5P_DEFAULT, leaf.filter_mask, origin, leaf.bytes, placeholder.data()) >= 0;
    if (!written || image.raw_writes.size() != 1 || image.raw_writes[0].address != at ||
        image.raw_writes[0].bytes != leaf.bytes)
      return hdf5_failed("place chunk " + std::to_string(addresses.size()) + " of dataset '" + name + "'");
    addresses.push_back(at);
    at += leaf.bytes;
  }
  return addresses;
}

Status check_stored(const ShardPiece& piece) {
  if (piece.codec == Codec::kRaw) return ok_status();
  const std::uint64_t chunk = piece.chunk_bytes();
  if (chunk > kMaxChunkBytes) {
    return invalid("a leaf of '" + piece.tensor + "' has " + std::to_string(chunk) +
                   " bytes; compressed, it may have at most " + std::to_string(kMaxChunkBytes))
        .with_hint("use smaller leaves, or no compression");
  }
  if (piece.stored.size() != piece.leaves.count)
    return invalid("piece of '" + piece.tensor + "' has " + std::to_string(piece.leaves.count) + " leaves and " +
                   std::to_string(piece.stored.size()) + " stored lengths");
  for (const StoredLeaf& leaf : piece.stored) {
    if (!stored_form_ok(leaf.bytes, leaf.filter_mask, chunk))
      return invalid("a leaf of '" + piece.tensor + "' cannot have " + std::to_string(leaf.bytes) +
                     " stored bytes with filter mask " + std::to_string(leaf.filter_mask));
  }
  return ok_status();
}

Status check_pieces(const std::vector<ShardPiece>& pieces) {
  if (pieces.empty()) return invalid("a shard file needs at least one piece");
  for (const ShardPiece& piece : pieces) {
    if (piece.leaves.count == 0 || piece.leaves.end() > piece.grid.count())
      return invalid("piece of '" + piece.tensor + "' has no leaves or leaves beyond its grid");
    TITAN_RETURN_IF_ERROR(check_stored(piece));
  }
  return ok_status();
}

}  // namespace

std::string escaped_name(const std::string& tensor) {
  std::string name;
  for (const char c : tensor) {
    if (c == '%')
      name += "%25";
    else if (c == '/')
      name += "%2F";
    else
      name += c;
  }
  return name;
}

std::string dataset_name(const std::string& tensor, std::uint64_t first_leaf) {
  return escaped_name(tensor) + "@" + std::to_string(first_leaf);
}

Result<ShardSkeleton> make_skeleton(const std::vector<ShardPiece>& pieces) {
  TITAN_RETURN_IF_ERROR(check_pieces(pieces));
  const Hdf5Session session;

  MemoryImage image;
  ShardSkeleton skeleton;
  const bool stream = is_stream(pieces);
  std::uint64_t at = kStreamBegin, longest = 0;
  for (const ShardPiece& piece : pieces) {
    skeleton.table_rows += piece.leaves.count;
    if (piece.codec == Codec::kRaw) at += piece.bytes();
    for (const StoredLeaf& leaf : piece.stored) {
      at += leaf.bytes;
      longest = std::max(longest, leaf.bytes);
    }
  }
  const std::vector<std::byte> placeholder(longest);
  if (stream) image.metadata_from = at + skeleton.table_rows * kLeafRowBytes;
  at = kStreamBegin;
  Hdf5Handle file =
      stream ? create_stream_in_memory(&image, kStreamBegin) : create_in_memory(&image, 600 * (pieces.size() + 1));
  if (!file.ok()) return hdf5_failed("create a shard in memory");
  {
    std::vector<std::pair<DType, Hdf5Handle>> types;
    for (const ShardPiece& piece : pieces) {
      auto known =
          std::find_if(types.begin(), types.end(), [&](const auto& entry) { return entry.first == piece.dtype; });
      if (known == types.end()) {
        types.emplace_back(piece.dtype, make_element_type(piece.dtype, file));
        known = std::prev(types.end());
      }
      if (!known->second.ok()) return hdf5_failed("make the type " + std::string(dtype_name(piece.dtype)));
      if (piece.codec == Codec::kZstd) {
        TITAN_ASSIGN_OR_RETURN(std::vector<std::uint64_t> addresses,
                               make_chunked(file, image, piece, known->second, at, placeholder));
        at = addresses.back() + piece.stored.back().bytes;
        skeleton.offsets.push_back(addresses.front());
        skeleton.leaf_offsets.push_back(std::move(addresses));
        continue;
      }
      if (stream) image.raw_at = std::exchange(at, at + piece.bytes());
      TITAN_ASSIGN_OR_RETURN(
          const std::uint64_t offset,
          make_contiguous(file, dataset_name(piece.tensor, piece.leaves.first), known->second, piece.elements()));
      skeleton.offsets.push_back(offset);
      skeleton.leaf_offsets.emplace_back();
    }
    const Hdf5Handle row = make_row_type();
    if (!row.ok()) return hdf5_failed("make the type of the leaf table");
    if (stream) image.raw_at = at;
    TITAN_ASSIGN_OR_RETURN(skeleton.table_offset, make_contiguous(file, "leaf_table", row, skeleton.table_rows));
  }
  if (!file.close()) return hdf5_failed("close a shard in memory");
  skeleton.file_bytes = std::max(image.end, image.allocated);
  for (auto& [offset, bytes] : image.extents) skeleton.metadata.push_back({offset, std::move(bytes)});
  return skeleton;
}

std::vector<ByteRange> uncovered(std::vector<ByteRange> covered, std::uint64_t file_bytes) {
  std::sort(covered.begin(), covered.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> rest;
  std::uint64_t at = 0;
  for (const ByteRange& range : covered) {
    if (range.begin > at) rest.push_back({at, std::min(range.begin, file_bytes)});
    at = std::max(at, range.end);
  }
  if (at < file_bytes) rest.push_back({at, file_bytes});
  return rest;
}

std::uint64_t ShardSkeleton::leaf_offset(const std::vector<ShardPiece>& pieces, std::size_t p,
                                         std::uint64_t leaf) const {
  const ShardPiece& piece = pieces[p];
  if (piece.codec != Codec::kRaw) return leaf_offsets[p][leaf - piece.leaves.first];
  return offsets[p] + (piece.grid.begin(leaf) - piece.grid.begin(piece.leaves.first)) * dtype_size(piece.dtype);
}

bool is_stream(const std::vector<ShardPiece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const ShardPiece& piece) { return piece.codec != Codec::kRaw; });
}

Digest envelope_digest(const ShardSkeleton& skeleton, const std::vector<ShardPiece>& pieces) {
  std::vector<ByteRange> covered{{skeleton.table_offset, skeleton.table_offset + skeleton.table_rows * kLeafRowBytes}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ShardPiece& piece = pieces[i];
    if (piece.codec == Codec::kRaw) covered.push_back({skeleton.offsets[i], skeleton.offsets[i] + piece.bytes()});
    for (std::size_t k = 0; k < skeleton.leaf_offsets[i].size(); ++k)
      covered.push_back({skeleton.leaf_offsets[i][k], skeleton.leaf_offsets[i][k] + piece.stored[k].bytes});
  }
  const std::vector<std::byte> zeros(65536);
  Hasher hasher;
  const auto hash_zeros = [&](std::uint64_t count) {
    for (; count > 0; count -= std::min<std::uint64_t>(count, zeros.size()))
      hasher.update(std::span(zeros).first(std::min<std::uint64_t>(count, zeros.size())));
  };
  auto extent = skeleton.metadata.begin();
  for (const ByteRange& range : uncovered(std::move(covered), skeleton.file_bytes)) {
    std::uint64_t at = range.begin;
    while (at < range.end) {
      while (extent != skeleton.metadata.end() && extent->offset + extent->bytes.size() <= at) ++extent;
      const bool none = extent == skeleton.metadata.end() || extent->offset >= range.end;
      const std::uint64_t begin = none ? range.end : std::max(at, extent->offset);
      hash_zeros(begin - at);
      if (none) break;
      const std::uint64_t end = std::min(range.end, extent->offset + extent->bytes.size());
      hasher.update(std::span(extent->bytes).subspan(begin - extent->offset, end - begin));
      at = end;
    }
  }
  return hasher.digest();
}

}  // namespace titan::ckpt
