#include "converters/dcp/shards.h"

#include <algorithm>
#include <map>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/json_value.h"
#include "ckpt/model/dtype.h"
#include "converters/hf/safetensors.h"

namespace titan::convert::dcp {
namespace {

using ckpt::JsonValue;
using ckpt::parse_json;

constexpr const char* kSharding = "DCP_SHARDING_INFO";  // header key; its value is {NAME: {"saved_offsets": [...]}}

// The offsets of the box stored in `entry`; 0 if the file has none.
Result<std::vector<std::uint64_t>> offsets_of(const std::string& file, const JsonValue& sharding,
                                              const SafetensorsEntry& entry) {
  std::vector<std::uint64_t> offsets(entry.shape.size(), 0);
  if (!sharding.is_object()) return offsets;
  const JsonValue* of_tensor = sharding.find(entry.name);
  const JsonValue* saved = of_tensor == nullptr ? nullptr : of_tensor->find("saved_offsets");
  const auto wrong = [&] {
    return ckpt::corrupt(file + ": " + kSharding + " does not say where '" + entry.name + "' begins");
  };
  if (saved == nullptr || saved->items().size() != offsets.size()) return wrong();
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const std::optional<std::uint64_t> offset = saved->items()[d].as_u64();
    std::uint64_t end = 0;
    if (!offset || __builtin_add_overflow(*offset, entry.shape[d], &end)) return wrong();
    offsets[d] = *offset;
  }
  return offsets;
}

Status add_box(const std::string& file, TensorEntry& tensor, const std::string& dtype, Chunk chunk) {
  if (tensor.dtype.empty()) {
    tensor.dtype = dtype;
    tensor.shape.assign(chunk.sizes.size(), 0);
  }
  if (tensor.dtype != dtype || tensor.shape.size() != chunk.sizes.size())
    return ckpt::corrupt(file + ": '" + tensor.name + "' has another type or rank than in another file");
  for (std::size_t d = 0; d < chunk.sizes.size(); ++d)
    tensor.shape[d] = std::max(tensor.shape[d], chunk.offsets[d] + chunk.sizes[d]);
  if (std::ranges::find(chunk.sizes, 0u) == chunk.sizes.end()) tensor.chunks.push_back(std::move(chunk));
  return {};
}

}  // namespace

bool is_shard(std::string_view name) {
  return name.starts_with("shard-") && name.find("-model-") != std::string_view::npos && name.ends_with(".safetensors");
}

std::vector<std::string> shards_in(ckpt::Fs& fs, const std::string& folder) {
  std::vector<std::string> names;
  if (const auto entries = fs.list(folder); entries.ok())
    for (const ckpt::DirEntry& entry : *entries)
      if (is_shard(entry.name)) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

Result<Metadata> read_shards(ckpt::Fs& fs, const std::string& folder, const std::vector<std::string>& files) {
  Metadata all;
  all.files = files;
  std::map<std::string, TensorEntry> tensors;
  for (std::uint32_t f = 0; f < files.size(); ++f) {
    const std::string path = ckpt::join_path(folder, files[f]);
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.open_read(path));
    TITAN_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(*file, path));
    JsonValue sharding;
    for (const auto& [key, text] : header.metadata)
      if (key == kSharding) {
        TITAN_ASSIGN_OR_RETURN(sharding, parse_json(path + ": " + kSharding, text));
      }
    for (const SafetensorsEntry& entry : header.entries) {
      TensorEntry& tensor = tensors[entry.name];
      tensor.name = entry.name;
      TITAN_ASSIGN_OR_RETURN(std::vector<std::uint64_t> offsets, offsets_of(path, sharding, entry));
      const ItemPlace place{f, header.buffer_offset + entry.begin, entry.end - entry.begin, true};
      TITAN_RETURN_IF_ERROR(
          add_box(path, tensor, std::string(ckpt::dtype_name(entry.dtype)), {std::move(offsets), entry.shape, place}));
    }
  }
  for (auto& [name, tensor] : tensors) {
    std::ranges::sort(tensor.chunks, {}, &Chunk::offsets);
    // Ranks that hold the same part (replicas) have each written it; the first copy is used.
    const auto same = [](const Chunk& a, const Chunk& b) { return a.offsets == b.offsets && a.sizes == b.sizes; };
    tensor.chunks.erase(std::unique(tensor.chunks.begin(), tensor.chunks.end(), same), tensor.chunks.end());
    TITAN_RETURN_IF_ERROR(check_cover(folder + ": " + name, tensor.shape, tensor.chunks));
    all.tensors.push_back(std::move(tensor));
  }
  return all;
}

}  // namespace titan::convert::dcp
