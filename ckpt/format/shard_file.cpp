#include "ckpt/format/shard_file.h"

#include <algorithm>
#include <utility>

#include "ckpt/format/hdf5_library.h"
#include "ckpt/format/memory_image.h"

namespace titan::ckpt {
namespace {

Id make_row_type() {
  Id type(H5Tcreate(H5T_COMPOUND, kLeafRowBytes), H5Tclose);
  const hsize_t digest_bytes[] = {16};
  const Id digest(H5Tarray_create2(H5T_STD_U8LE, 1, digest_bytes), H5Tclose);
  const bool ok = type.ok() && digest.ok() && H5Tinsert(type, "offset", 0, H5T_STD_U64LE) >= 0 &&
                  H5Tinsert(type, "stored_bytes", 8, H5T_STD_U64LE) >= 0 && H5Tinsert(type, "raw_bytes", 16, H5T_STD_U64LE) >= 0 &&
                  H5Tinsert(type, "filter_mask", 24, H5T_STD_U32LE) >= 0 && H5Tinsert(type, "reserved", 28, H5T_STD_U32LE) >= 0 &&
                  H5Tinsert(type, "raw", 32, digest) >= 0 && H5Tinsert(type, "stored", 48, digest) >= 0;
  if (!ok) return {-1, H5Tclose};
  return type;
}

// Creates one early-allocated contiguous dataset and returns its address.
Result<std::uint64_t> make_dataset(hid_t file, const std::string& name, hid_t type, std::uint64_t length) {
  const hsize_t dims[] = {length};
  const Id space(H5Screate_simple(1, dims, nullptr), H5Sclose);
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Id link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const bool ready = space.ok() && creation.ok() && link.ok() && H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 &&
                     H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0 &&
                     H5Pset_obj_track_times(creation, 0) >= 0 && H5Pset_char_encoding(link, H5T_CSET_UTF8) >= 0;
  if (!ready) return hdf5_failed("prepare dataset '" + name + "'");
  const Id dataset(H5Dcreate2(file, name.c_str(), type, space, link, creation, H5P_DEFAULT), H5Dclose);
  if (!dataset.ok()) return hdf5_failed("create dataset '" + name + "'");
  const haddr_t address = H5Dget_offset(dataset);
  if (address == HADDR_UNDEF) return hdf5_failed("allocate dataset '" + name + "'");
  return static_cast<std::uint64_t>(address);
}


Status check_pieces(const std::vector<ShardPiece>& pieces) {
  if (pieces.empty()) return invalid("a shard file needs at least one piece");
  for (const ShardPiece& piece : pieces) {
    if (piece.leaves.count == 0 || piece.leaves.end() > piece.grid.count())
      return invalid("piece of '" + piece.tensor + "' has no leaves or leaves beyond its grid");
  }
  return ok_status();
}

}  // namespace

std::string escaped_name(const std::string& tensor) {
  std::string name;
  for (const char c : tensor) {
    if (c == '%') name += "%25";
    else if (c == '/') name += "%2F";
    else name += c;
  }
  return name;
}

std::string dataset_name(const std::string& tensor, std::uint64_t first_leaf) { return escaped_name(tensor) + "@" + std::to_string(first_leaf); }

Result<ShardSkeleton> make_skeleton(const std::vector<ShardPiece>& pieces) {
  TITAN_RETURN_IF_ERROR(check_pieces(pieces));
  const Hdf5Session session;

  MemoryImage image;
  ShardSkeleton skeleton;
  Id file = create_in_memory(&image, 600 * (pieces.size() + 1));
  if (!file.ok()) return hdf5_failed("create a shard in memory");
  {
    std::vector<std::pair<DType, Id>> types;
    for (const ShardPiece& piece : pieces) {
      auto known = std::find_if(types.begin(), types.end(), [&](const auto& entry) { return entry.first == piece.dtype; });
      if (known == types.end()) {
        types.emplace_back(piece.dtype, make_element_type(piece.dtype, file));
        known = std::prev(types.end());
      }
      if (!known->second.ok()) return hdf5_failed("make the type " + std::string(dtype_name(piece.dtype)));
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t offset,
                             make_dataset(file, dataset_name(piece.tensor, piece.leaves.first), known->second, piece.elements()));
      skeleton.offsets.push_back(offset);
      skeleton.table_rows += piece.leaves.count;
    }
    const Id row = make_row_type();
    if (!row.ok()) return hdf5_failed("make the type of the leaf table");
    TITAN_ASSIGN_OR_RETURN(skeleton.table_offset, make_dataset(file, "leaf_table", row, skeleton.table_rows));
  }
  if (!file.close()) return hdf5_failed("close a shard in memory");
  skeleton.file_bytes = std::max(image.end, image.allocated);
  for (auto& [offset, bytes] : image.extents) skeleton.metadata.push_back({offset, std::move(bytes)});
  return skeleton;
}

}  // namespace titan::ckpt
