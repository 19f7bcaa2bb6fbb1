#include "ckpt/read/reader.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/shard_reader.h"

namespace titan::ckpt {
namespace {

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

class OurFiles final : public CheckpointContent {
 public:
  /// `json`: see CheckpointReader::known.
  OurFiles(Fs& fs, std::string folder, Manifest read, std::map<std::string, std::string> json)
      : CheckpointContent(std::move(folder), std::move(read)), fs_(fs), json_texts_(std::move(json)) {}

  bool foreign() const override { return false; }
  Status read(const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) override;
  Result<std::string> json_text(const char* component) const override;
  Result<LrSchedule> lr_schedule() const override { return decoded(kLrScheduler, decode_lr_schedule); }
  Result<DataPosition> data_position() const override { return decoded(kDataloader, decode_data_position); }
  Result<TrainState> train_state() const override;
  std::vector<ModelFilePlace> model_files() const override { return model_files_in(path, manifest); }

 private:
  template <typename T>
  Result<T> decoded(const char* component, Result<T> (*decode)(const std::string& what, std::string_view text)) const {
    TITAN_ASSIGN_OR_RETURN(const std::string text, json_text(component));
    return decode(join_path(path, json_path(component)), text);
  }

  Fs& fs_;
  std::map<std::string, std::string> json_texts_;  // by component; texts that came with the manifest
  ShardReader shards_{fs_, path, manifest};
};

Result<std::string> OurFiles::json_text(const char* component) const {
  const std::string member = json_path(component);
  const auto entry = std::ranges::find(manifest.files, member, &FileEntry::path);
  if (!manifest.component(component) || entry == manifest.files.end()) return absent(component);
  std::string text;
  if (const auto given = json_texts_.find(component); given != json_texts_.end()) {
    text = given->second;
  } else {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_member(fs_, path, member, entry->bytes));
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  if (text.size() != entry->bytes || digest_of(text) != entry->whole)
    return corrupt(join_path(path, member) + " does not match its digest");
  return text;
}

Result<TrainState> OurFiles::train_state() const {
  TITAN_ASSIGN_OR_RETURN(TrainState state, decoded(kTrainState, decode_train_state));
  if (state.step != manifest.step)
    return corrupt(join_path(path, json_path(kTrainState)) + " says step " + std::to_string(state.step) +
                   ", the manifest " + std::to_string(manifest.step));
  return state;
}

Status OurFiles::read(const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) {
  const StoredTensor& tensor = *manifest.stored(ref);
  const std::uint64_t leaf = manifest.leaf_elements, end = first + out.size() / dtype_size(tensor.dtype);
  for (const Piece& piece : tensor.pieces) {
    const std::uint64_t from = std::max(first / leaf, piece.first_leaf);
    const std::uint64_t to = std::min(end / leaf + (end % leaf != 0), piece.first_leaf + piece.leaf_count);
    if (from >= to) continue;
    const LeafRange part{from, to - from};
    const std::span<std::byte> bytes = out.first(PieceLeaves(manifest, ref, piece).bytes(part));
    TITAN_RETURN_IF_ERROR(shards_.read(ref, piece, part, bytes));
    out = out.subspan(bytes.size());
  }
  return ok_status();
}

Status absent_tensor(const CheckpointReader& reader, const TensorRef& ref) {
  return not_found("tensor '" + reader.manifest().stored_name(ref) + "' is not in " + reader.path());
}

}  // namespace

Result<CheckpointReader> CheckpointReader::open(Fs& fs, const std::string& path) {
  const std::string manifest_path = join_path(path, kManifestFile);
  const auto info = fs.stat_member(path, kManifestFile);
  if (!info.ok()) {
    if (info.status().code == Code::kNotFound) return no_manifest(fs, path);
    return info.status();
  }
  if (info->type != FileType::kFile) return corrupt(manifest_path + " is not a regular file");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_member(fs, path, kManifestFile, kMaxManifestBytes));
  TITAN_ASSIGN_OR_RETURN(Manifest manifest,
                         decode_manifest(manifest_path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  for (const FileEntry& file : manifest.files) TITAN_RETURN_IF_ERROR(check_member(fs, path, file));
  return known(fs, path, std::move(manifest));
}

Result<Manifest> read_manifest(Fs& fs, const std::string& path) {
  const std::string manifest_path = join_path(path, kManifestFile);
  const auto bytes = read_file(fs, manifest_path, kMaxManifestBytes);
  if (!bytes.ok()) return bytes.status().code == Code::kNotFound ? no_manifest(fs, path) : bytes.status();
  return decode_manifest(manifest_path, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

CheckpointReader CheckpointReader::known(Fs& fs, std::string path, Manifest manifest,
                                         std::map<std::string, std::string> json) {
  return CheckpointReader(std::make_unique<OurFiles>(fs, std::move(path), std::move(manifest), std::move(json)));
}

Status CheckpointReader::read(const TensorRef& ref, LeafRange leaves, std::span<std::byte> out) const {
  const StoredTensor* tensor = manifest().stored(ref);
  if (!tensor) return absent_tensor(*this, ref);
  const LeafGrid grid = manifest().parameters[ref.index].meta.grid(manifest().leaf_elements);
  const std::uint64_t size = dtype_size(tensor->dtype);
  if (leaves.first > grid.count() || leaves.count > grid.count() - leaves.first ||
      out.size() != (grid.begin(leaves.end()) - grid.begin(leaves.first)) * size)
    return invalid("read of leaves " + std::to_string(leaves.first) + ".." + std::to_string(leaves.end()) +
                   " of tensor '" + manifest().stored_name(ref) + "' (" + std::to_string(grid.count()) +
                   " leaves) into " + std::to_string(out.size()) + " bytes");
  return out.empty() ? ok_status() : content_->read(ref, grid.begin(leaves.first), out);
}

Status CheckpointReader::read(const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) const {
  const StoredTensor* tensor = manifest().stored(ref);
  if (!tensor) return absent_tensor(*this, ref);
  const LeafGrid grid = manifest().parameters[ref.index].meta.grid(manifest().leaf_elements);
  const std::uint64_t size = dtype_size(tensor->dtype), count = out.size() / size;
  const auto whole = [&](std::uint64_t at) { return at == grid.elements || at % grid.leaf_elements == 0; };
  if (first > grid.elements || count > grid.elements - first || out.size() % size != 0 ||
      (!foreign() && !(whole(first) && whole(first + count))))
    return invalid("read of elements from " + std::to_string(first) + " on of tensor '" + manifest().stored_name(ref) +
                   "' (" + std::to_string(grid.elements) + " elements in leaves of " +
                   std::to_string(grid.leaf_elements) + ") into " + std::to_string(out.size()) + " bytes");
  return out.empty() ? ok_status() : content_->read(ref, first, out);
}

Result<IdState> id_state(const CheckpointReader& source, const Manifest& manifest) {
  IdState state;
  if (manifest.component(kLrScheduler)) {
    TITAN_ASSIGN_OR_RETURN(state.lr, source.lr_schedule());
  }
  if (manifest.component(kDataloader)) {
    TITAN_ASSIGN_OR_RETURN(state.data, source.data_position());
  }
  if (manifest.component(kTrainState)) {
    TITAN_ASSIGN_OR_RETURN(const TrainState train, source.train_state());
    state.tokens = train.tokens;
  }
  return state;
}

}  // namespace titan::ckpt
