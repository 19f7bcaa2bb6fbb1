#include "ckpt/format/manifest_builder.h"

#include <algorithm>
#include <set>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {

FileEntry whole_file(std::string path, FileRole role, std::span<const std::byte> bytes) {
  FileEntry file;
  file.path = std::move(path);
  file.role = role;
  file.bytes = bytes.size();
  file.whole = digest_of(bytes);
  return file;
}

std::uint32_t ManifestBuilder::add_file(FileEntry file) {
  manifest_.files.push_back(std::move(file));
  return static_cast<std::uint32_t>(manifest_.files.size() - 1);
}

void ManifestBuilder::add_piece(const TensorRef& ref, Piece piece, std::uint32_t file) {
  piece.file = file;
  manifest_.stored(ref)->pieces.push_back(piece);
}

void ManifestBuilder::put_json(const char* component, std::string_view text) {
  FileEntry file = whole_file(json_path(component), FileRole::kJson, std::as_bytes(std::span(text)));
  put_component({component, file.whole, file.bytes, file.bytes, 1});
  const auto there = std::ranges::find(manifest_.files, file.path, &FileEntry::path);
  if (there == manifest_.files.end())
    add_file(std::move(file));
  else
    *there = std::move(file);
}

void ManifestBuilder::sum_up(const char* component) {
  ComponentEntry entry;
  entry.name = component;
  std::set<std::uint32_t> files;
  const auto add = [&](const ParameterRecord& record, const StoredTensor& tensor) {
    entry.bytes += element_count(record.meta.shape) * dtype_size(tensor.dtype);
    for (const Piece& piece : tensor.pieces) files.insert(piece.file);
  };
  for (const ParameterRecord& record : manifest_.parameters) {
    if (entry.name != kModel)
      for (const SlotTensor& slot : record.slots) add(record, slot.tensor);
    else if (record.model)
      add(record, *record.model);
  }
  for (const std::uint32_t file : files) entry.stored_bytes += manifest_.files[file].bytes;
  entry.files = static_cast<std::uint32_t>(files.size());
  entry.digest = component_digest(manifest_, component);
  put_component(std::move(entry));
}

void ManifestBuilder::seal(const IdState& state) {
  manifest_.excluded = manifest_.component(kDataloader) != nullptr && !state.data.excluded.empty();
  manifest_.mixture = manifest_.component(kDataloader) != nullptr && !state.data.sets.empty();
  manifest_.id = checkpoint_id(manifest_, state.lr, state.data, state.tokens);
}

void ManifestBuilder::put_component(ComponentEntry entry) {
  const auto there = std::ranges::find(manifest_.components, entry.name, &ComponentEntry::name);
  if (there == manifest_.components.end())
    manifest_.components.push_back(std::move(entry));
  else
    *there = std::move(entry);
}

}  // namespace titan::ckpt
