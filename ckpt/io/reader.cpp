#include "ckpt/io/reader.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>

#include "ckpt/format/layout.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/io/leaf_check.h"
#include "ckpt/io/leaf_rows.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kOpenFiles = 128;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;  // hash while the bytes are still in the cache

// of one file; of a longer table parts are read when they are needed
constexpr std::uint64_t kRowsHeld = 4 * kRowsAtOnce;

// A leaf table that matched its digest.
struct Table {
  std::vector<LeafRow> rows;  // all, or none when there are too many to hold
};

Status check_member(Fs& fs, const std::string& folder, const FileEntry& file) {
  const std::string path = join_path(folder, file.path);
  const auto info = fs.stat_member(folder, file.path);
  if (!info.ok()) {
    if (info.status().code == Code::kNotFound) return corrupt("member " + path + " is missing");
    return info.status();
  }
  if (info->type != FileType::kFile) return corrupt("member " + path + " is not a regular file");
  if (info->size != file.bytes)
    return corrupt("member " + path + " has " + std::to_string(info->size) + " bytes, expected " +
                   std::to_string(file.bytes) +
                   (info->size < file.bytes ? " (damaged: cut off)" : " (damaged: too long)"));
  return file.role == FileRole::kShard ? check_table_on_disk(file, *info, path) : ok_status();
}

}  // namespace

struct CheckpointReader::Impl {
  Fs* fs = nullptr;
  std::string path;
  Manifest manifest;
  std::map<std::string, std::string> json_texts;  // by component; not from the folder
  std::optional<ForeignView> foreign;             // its path and manifest are moved up here

  std::mutex mutex;
  std::map<std::uint32_t, std::shared_ptr<File>> open_files;
  std::list<std::uint32_t> open_order;
  std::map<std::uint32_t, std::shared_ptr<const Table>> tables;
  std::vector<std::unique_ptr<CompressedLeafReader>> idle_readers;  // as many as threads ever read at once

  std::string file_path(std::uint32_t file) const { return join_path(path, manifest.files[file].path); }

  // Files stay open up to a bound; one that is in use lives on in its caller's pointer.
  Result<std::shared_ptr<File>> open_file(std::uint32_t file) {
    const std::lock_guard lock(mutex);
    if (const auto known = open_files.find(file); known != open_files.end()) return known->second;
    TITAN_ASSIGN_OR_RETURN(std::shared_ptr<File> opened, fs->open_member(path, manifest.files[file].path));
    if (open_order.size() >= kOpenFiles) {
      open_files.erase(open_order.front());
      open_order.pop_front();
    }
    open_files[file] = opened;
    open_order.push_back(file);
    return opened;
  }

  Result<std::shared_ptr<const Table>> table(std::uint32_t file, File& handle) {
    {
      const std::lock_guard lock(mutex);
      if (const auto known = tables.find(file); known != tables.end()) return known->second;
    }
    const FileEntry& entry = manifest.files[file];
    TITAN_RETURN_IF_ERROR(check_table(handle, entry, file_path(file)));
    const auto known = std::make_shared<Table>();
    if (entry.table_rows <= kRowsHeld) {
      TITAN_ASSIGN_OR_RETURN(known->rows, read_rows(handle, entry, 0, entry.table_rows));
    }
    const std::lock_guard lock(mutex);
    return tables.emplace(file, known).first->second;
  }

  // Rows [first, first + count) of the table of `file`, which is checked before any is used.
  Result<std::vector<LeafRow>> rows(std::uint32_t file, File& handle, std::uint64_t first, std::uint64_t count) {
    TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Table> known, table(file, handle));
    if (known->rows.empty()) return read_rows(handle, manifest.files[file], first, count);
    const auto begin = known->rows.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<LeafRow>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

  std::unique_ptr<CompressedLeafReader> borrow_reader() {
    const std::lock_guard lock(mutex);
    if (idle_readers.empty()) return std::make_unique<CompressedLeafReader>();
    std::unique_ptr<CompressedLeafReader> reader = std::move(idle_readers.back());
    idle_readers.pop_back();
    return reader;
  }
  void give_back(std::unique_ptr<CompressedLeafReader> reader) {
    const std::lock_guard lock(mutex);
    idle_readers.push_back(std::move(reader));
  }

  Status read_compressed(const TensorRef& ref, const Piece& piece, const LeafGrid& grid, std::uint64_t size,
                         LeafRange leaves, std::span<std::byte> out, File& file, const std::vector<LeafRow>& rows,
                         CompressedLeafReader& reader);
  Status read_piece(const TensorRef& ref, const Piece& piece, const LeafGrid& grid, std::uint64_t size,
                    LeafRange leaves, std::span<std::byte> out);
  Result<std::string> json(const char* component) const;
};

// Reads and checks `leaves`, all of them in `piece`, at most kRowsAtOnce.
Status CheckpointReader::Impl::read_piece(const TensorRef& ref, const Piece& piece, const LeafGrid& grid,
                                          std::uint64_t size, LeafRange leaves, std::span<std::byte> out) {
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, open_file(piece.file));
  TITAN_ASSIGN_OR_RETURN(const std::vector<LeafRow> table_rows,
                         rows(piece.file, *file, piece.row + (leaves.first - piece.first_leaf), leaves.count));
  if (piece.codec == Codec::kZstd) {
    std::unique_ptr<CompressedLeafReader> reader = borrow_reader();
    Status status = read_compressed(ref, piece, grid, size, leaves, out, *file, table_rows, *reader);
    give_back(std::move(reader));
    return status;
  }
  const std::uint64_t piece_begin = grid.begin(piece.first_leaf);
  const auto damaged = [&](std::uint64_t leaf, const std::string& what) {
    return corrupt(what + ": leaf " + std::to_string(leaf) + " of tensor '" + manifest.stored_name(ref) + "' in " +
                   file_path(piece.file) + ", offset " +
                   std::to_string(piece.offset + (grid.begin(leaf) - piece_begin) * size) + ", " +
                   std::to_string(grid.length(leaf) * size) + " bytes");
  };
  for (std::uint64_t first = leaves.first; first < leaves.end();) {
    std::uint64_t end = first + 1;
    while (end < leaves.end() && (grid.begin(end + 1) - grid.begin(first)) * size <= kReadBytes) ++end;
    const std::uint64_t offset = piece.offset + (grid.begin(first) - piece_begin) * size;
    const std::span<std::byte> run = out.first((grid.begin(end) - grid.begin(first)) * size);
    TITAN_RETURN_IF_ERROR(file->pread(offset, run));
    std::uint64_t at = 0;
    for (std::uint64_t leaf = first; leaf < end; ++leaf) {
      const LeafRow& row = table_rows[leaf - leaves.first];
      const std::uint64_t bytes = grid.length(leaf) * size;
      if (row.offset != offset + at || row.raw_bytes != bytes || row.stored_bytes != bytes || row.filter_mask != 0)
        return damaged(leaf, "the leaf table does not agree with the manifest");
      if (digest_of(run.subspan(at, bytes)) != row.raw) return damaged(leaf, "data do not match their digest");
      at += bytes;
    }
    out = out.subspan(run.size());
    first = end;
  }
  return ok_status();
}

Status CheckpointReader::Impl::read_compressed(const TensorRef& ref, const Piece& piece, const LeafGrid& grid,
                                               std::uint64_t size, LeafRange leaves, std::span<std::byte> out,
                                               File& file, const std::vector<LeafRow>& rows,
                                               CompressedLeafReader& reader) {
  for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf) {
    const LeafRow& row = rows[leaf - leaves.first];
    const auto damaged = [&](const std::string& what) {
      return corrupt(what + ": leaf " + std::to_string(leaf) + " of tensor '" + manifest.stored_name(ref) + "' in " +
                     file_path(piece.file) + ", offset " + std::to_string(row.offset) + ", " +
                     std::to_string(row.stored_bytes) + " bytes stored");
    };
    const CompressedLeaf place{grid.length(leaf) * size, grid.chunk_extent() * size, size};
    if (!row_fits(row, place, manifest.files[piece.file].bytes) ||
        (leaf == piece.first_leaf && row.offset != piece.offset))
      return damaged("the leaf table does not agree with the manifest");
    const Status read = reader.read(file, row, place, out.first(place.raw_bytes));
    if (read.code == Code::kCorrupt) return damaged(read.message);
    TITAN_RETURN_IF_ERROR(read);
    out = out.subspan(place.raw_bytes);
  }
  return ok_status();
}

Result<std::string> CheckpointReader::Impl::json(const char* component) const {
  const std::string member = json_path(component);
  const auto entry = std::find_if(manifest.files.begin(), manifest.files.end(),
                                  [&](const FileEntry& file) { return file.path == member; });
  if (!manifest.component(component) || entry == manifest.files.end())
    return not_found("component '" + std::string(component) + "' is not in " + path);
  std::string text;
  if (const auto given = json_texts.find(component); given != json_texts.end()) {
    text = given->second;
  } else {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_member(*fs, path, member, entry->bytes));
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (text.size() != entry->bytes || digest_of(text) != entry->whole)
    return corrupt(join_path(path, member) + " does not match its digest");
  return text;
}

CheckpointReader::CheckpointReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

Result<CheckpointReader> CheckpointReader::open(Fs& fs, const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->fs = &fs;
  impl->path = path;
  const std::string manifest_path = join_path(path, kManifestFile);
  const auto info = fs.stat_member(path, kManifestFile);
  if (!info.ok()) {
    if (info.status().code == Code::kNotFound)
      return not_found("no checkpoint at " + path + ": it has no " + kManifestFile);
    return info.status();
  }
  if (info->type != FileType::kFile) return corrupt(manifest_path + " is not a regular file");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_member(fs, path, kManifestFile, kMaxManifestBytes));
  TITAN_ASSIGN_OR_RETURN(impl->manifest,
                         decode_manifest(manifest_path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  for (const FileEntry& file : impl->manifest.files) TITAN_RETURN_IF_ERROR(check_member(fs, path, file));
  return CheckpointReader(std::move(impl));
}

Result<Manifest> read_manifest(Fs& fs, const std::string& path) {
  const std::string manifest_path = join_path(path, kManifestFile);
  const auto bytes = read_file(fs, manifest_path, kMaxManifestBytes);
  if (!bytes.ok())
    return bytes.status().code == Code::kNotFound
               ? not_found("no checkpoint at " + path + ": it has no " + kManifestFile)
               : bytes.status();
  return decode_manifest(manifest_path, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

CheckpointReader CheckpointReader::known(Fs& fs, std::string path, Manifest manifest,
                                         std::map<std::string, std::string> json) {
  auto impl = std::make_unique<Impl>();
  impl->fs = &fs;
  impl->path = std::move(path);
  impl->manifest = std::move(manifest);
  impl->json_texts = std::move(json);
  return CheckpointReader(std::move(impl));
}

CheckpointReader CheckpointReader::view(ForeignView foreign) {
  auto impl = std::make_unique<Impl>();
  impl->path = std::move(foreign.path);
  impl->manifest = std::move(foreign.manifest);
  impl->foreign = std::move(foreign);
  return CheckpointReader(std::move(impl));
}

bool CheckpointReader::foreign() const { return impl_->foreign.has_value(); }

std::vector<std::string> CheckpointReader::left_out() const {
  return foreign() ? impl_->foreign->left_out : std::vector<std::string>{};
}

std::vector<ModelFilePlace> CheckpointReader::model_files() const {
  return foreign() ? impl_->foreign->model_files : model_files_in(impl_->path, impl_->manifest);
}
std::vector<std::string> CheckpointReader::model_file_notes() const {
  return foreign() ? impl_->foreign->model_file_notes : std::vector<std::string>{};
}

const std::string& CheckpointReader::path() const { return impl_->path; }
const Manifest& CheckpointReader::manifest() const { return impl_->manifest; }
Manifest CheckpointReader::take_manifest() && { return std::move(impl_->manifest); }
namespace {

template <typename T>
Result<T> present(const std::optional<T>& value, const char* component, const std::string& path) {
  if (!value) return not_found("component '" + std::string(component) + "' is not in " + path);
  return *value;
}

}  // namespace

Result<std::string> CheckpointReader::json_text(const char* component) const { return impl_->json(component); }

Result<LrSchedule> CheckpointReader::lr_schedule() const {
  if (foreign()) return present(impl_->foreign->lr, kLrScheduler, path());
  TITAN_ASSIGN_OR_RETURN(const std::string text, impl_->json(kLrScheduler));
  return decode_lr_schedule(join_path(path(), json_path(kLrScheduler)), text);
}

Result<DataPosition> CheckpointReader::data_position() const {
  if (foreign()) return present(impl_->foreign->data, kDataloader, path());
  TITAN_ASSIGN_OR_RETURN(const std::string text, impl_->json(kDataloader));
  return decode_data_position(join_path(path(), json_path(kDataloader)), text);
}

Result<TrainState> CheckpointReader::train_state() const {
  if (foreign()) return present(impl_->foreign->train, kTrainState, path());
  TITAN_ASSIGN_OR_RETURN(const std::string text, impl_->json(kTrainState));
  TITAN_ASSIGN_OR_RETURN(TrainState state, decode_train_state(join_path(path(), json_path(kTrainState)), text));
  if (state.step != manifest().step)
    return corrupt(join_path(path(), json_path(kTrainState)) + " says step " + std::to_string(state.step) +
                   ", the manifest " + std::to_string(manifest().step));
  return state;
}

Status CheckpointReader::read(const TensorRef& ref, LeafRange leaves, std::span<std::byte> out) const {
  const StoredTensor* tensor = manifest().stored(ref);
  if (!tensor) return not_found("tensor '" + manifest().stored_name(ref) + "' is not in " + path());
  const LeafGrid grid = manifest().parameters[ref.index].meta.grid(manifest().leaf_elements);
  const std::uint64_t size = dtype_size(tensor->dtype);
  if (leaves.first > grid.count() || leaves.count > grid.count() - leaves.first ||
      out.size() != (grid.begin(leaves.end()) - grid.begin(leaves.first)) * size)
    return invalid("read of leaves " + std::to_string(leaves.first) + ".." + std::to_string(leaves.end()) +
                   " of tensor '" + manifest().stored_name(ref) + "' (" + std::to_string(grid.count()) +
                   " leaves) into " + std::to_string(out.size()) + " bytes");
  if (foreign()) return out.empty() ? ok_status() : impl_->foreign->tensors->read(ref, grid.begin(leaves.first), out);
  for (const Piece& piece : tensor->pieces) {
    const std::uint64_t first = std::max(leaves.first, piece.first_leaf);
    const std::uint64_t end = std::min(leaves.end(), piece.first_leaf + piece.leaf_count);
    if (first >= end) continue;
    for (std::uint64_t at = first; at < end; at += kRowsAtOnce) {
      const LeafRange part{at, std::min(kRowsAtOnce, end - at)};
      const std::uint64_t bytes = (grid.begin(part.end()) - grid.begin(part.first)) * size;
      TITAN_RETURN_IF_ERROR(impl_->read_piece(ref, piece, grid, size, part, out.first(bytes)));
      out = out.subspan(bytes);
    }
  }
  return ok_status();
}

}  // namespace titan::ckpt
