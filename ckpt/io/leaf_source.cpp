#include "ckpt/io/leaf_source.h"

#include "ckpt/io/leaf_rows.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kOpenFiles = 128;

}  // namespace

Result<std::shared_ptr<File>> LeafSource::open(std::uint32_t file) {
  const std::lock_guard lock(mutex_);
  if (const auto known = files_.find(file); known != files_.end()) return known->second;
  TITAN_ASSIGN_OR_RETURN(std::shared_ptr<File> opened, fs_.open_member(folder_, manifest_.files[file].path));
  if (order_.size() >= kOpenFiles) {
    files_.erase(order_.front());  // one that is in use lives on in its user's pointer
    order_.pop_front();
  }
  files_[file] = opened;
  order_.push_back(file);
  return opened;
}

Result<std::vector<LeafRow>> LeafSource::table(std::uint32_t file) {
  const FileEntry& entry = manifest_.files[file];
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> handle, open(file));
  TITAN_RETURN_IF_ERROR(check_table(*handle, entry, file_path(file)));
  return read_rows(*handle, entry, 0, entry.table_rows);
}

Status LeafSource::check_row(const LeafRow& row, const TensorRef& ref, std::uint64_t leaf, std::uint32_t file,
                             Codec codec, std::uint64_t raw_offset) const {
  const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
  const std::uint64_t size = dtype_size(manifest_.stored(ref)->dtype), file_bytes = manifest_.files[file].bytes;
  bool good = row.raw_bytes == grid.length(leaf) * size && row.offset <= file_bytes &&
              row.stored_bytes <= file_bytes - row.offset;
  if (codec == Codec::kRaw) {
    good = good && row.offset == raw_offset && row.stored_bytes == row.raw_bytes && row.filter_mask == 0 &&
           row.stored == row.raw;
  } else {
    good = good && row.stored_bytes > 0 && row.stored_bytes <= grid.chunk_extent() * size;
  }
  return good ? ok_status() : damaged("the leaf table does not agree with the manifest", ref, leaf, file, row);
}

Status LeafSource::damaged(const std::string& what, const TensorRef& ref, std::uint64_t leaf, std::uint32_t file,
                           const LeafRow& row) const {
  return corrupt(what + ": leaf " + std::to_string(leaf) + " of tensor '" + manifest_.stored_name(ref) + "' in " +
                 file_path(file) + ", offset " + std::to_string(row.offset) + ", " + std::to_string(row.stored_bytes) +
                 " bytes");
}

}  // namespace titan::ckpt
