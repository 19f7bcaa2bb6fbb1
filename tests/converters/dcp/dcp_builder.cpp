#include "tests/converters/dcp/dcp_builder.h"

#include <bit>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "converters/pickle/pickle_names.h"
#include "converters/pickle/pickle_writer.h"

namespace titan::convert::dcp::testing {
namespace {

void dims(PickleWriter& out, const std::vector<std::int64_t>& values) {
  out.global("torch", "Size");
  if (values.size() > 3) out.mark();
  for (const std::int64_t value : values) out.integer(value);
  out.tuple(values.size());
  out.tuple(1);
  out.reduce();
}

void open(PickleWriter& out, std::string_view module, std::string_view name) {
  out.global(module, name);
  out.new_object();
  out.empty_dict();
  out.mark();
}
void close(PickleWriter& out) {
  out.set_items();
  out.build();
}

void properties(PickleWriter& out, const BuiltTensor& tensor, Properties form) {
  out.global(form == Properties::kOldModule ? kOldMetadataModule : kMetadataModule, "TensorProperties");
  out.new_object();
  const auto layout = [&] {
    out.global("torch.serialization", "_get_layout");
    out.text(tensor.layout);
    out.tuple(1);
    out.reduce();
  };
  if (form == Properties::kDict) {
    out.empty_dict();
    out.mark();
    out.text("dtype");
    out.global("torch", tensor.dtype);
    out.text("layout");
    layout();
    out.set_items();
    out.build();
    return;
  }
  out.mark();
  out.global("torch", tensor.dtype);
  layout();
  out.boolean(false);
  if (form == Properties::kEnumTrap) {
    out.global("builtins", "getattr");
    out.global(kMetadataModule, "_MEM_FORMAT_ENCODING");
    out.text("TORCH_CONTIGUOUS_FORMAT");
    out.tuple(2);
  } else {
    out.global(form == Properties::kOldModule ? kOldMetadataModule : kMetadataModule,
               form == Properties::kOldModule ? "MEM_FORMAT_ENCODING" : "_MEM_FORMAT_ENCODING");
    out.integer(0);
    out.tuple(1);
  }
  out.reduce();
  if (form != Properties::kFour) out.boolean(false);
  if (form == Properties::kSix) out.integers({3, 1});
  out.tuple(form == Properties::kFour ? 4 : form == Properties::kSix ? 6 : 5);
  out.build();
}

void storage(PickleWriter& out, const std::string& name, const std::vector<std::int64_t>* offset,
             const std::string& file, std::int64_t at, std::int64_t length, const std::string& transform) {
  open(out, kMetadataModule, "MetadataIndex");
  out.text("fqn");
  out.text(name);
  out.text("index");
  out.none();
  if (offset != nullptr) {
    out.text("offset");
    dims(out, *offset);
  }
  close(out);
  open(out, kFilesystemModule, "_StorageInfo");
  out.text("relative_path");
  out.text(file);
  out.text("offset");
  out.integer(at);
  out.text("length");
  out.integer(length);
  if (!transform.empty()) {
    out.text("transform_descriptors");
    out.empty_list();
    out.text(transform);
    out.append();
  }
  close(out);
}

}  // namespace

std::string build_metadata(const BuiltMetadata& metadata) {
  PickleWriter out(4);
  open(out, kMetadataModule, "Metadata");
  out.text("state_dict_metadata");
  out.empty_dict();
  out.mark();
  for (const BuiltTensor& tensor : metadata.tensors) {
    out.text(tensor.name);
    open(out, kMetadataModule, "TensorStorageMetadata");
    out.text("properties");
    properties(out, tensor, metadata.properties);
    out.text("size");
    dims(out, tensor.shape);
    out.text("chunks");
    out.empty_list();
    out.mark();
    for (const BuiltChunk& chunk : tensor.chunks) {
      open(out, kMetadataModule, "ChunkStorageMetadata");
      out.text("offsets");
      dims(out, chunk.offsets);
      out.text("sizes");
      dims(out, chunk.sizes);
      close(out);
    }
    out.appends();
    close(out);
  }
  for (const BuiltValue& value : metadata.values) {
    out.text(value.name);
    out.global(kMetadataModule, "BytesStorageMetadata");
    out.new_object();
  }
  out.set_items();
  out.text("planner_data");
  out.none();
  out.text("storage_data");
  out.empty_dict();
  out.mark();
  for (const BuiltTensor& tensor : metadata.tensors)
    for (const BuiltChunk& chunk : tensor.chunks)
      if (chunk.stored)
        storage(out, tensor.name, chunk.index ? &*chunk.index : &chunk.offsets, chunk.file, chunk.at, chunk.length,
                metadata.transform);
  for (const BuiltValue& value : metadata.values)
    for (int i = 0; i < (value.twice ? 2 : 1) && value.stored; ++i)
      storage(out, value.name, nullptr, value.file, value.at, value.length, metadata.transform);
  out.set_items();
  if (!metadata.old) {
    out.text("storage_meta");
    if (metadata.path_id) {
      open(out, kMetadataModule, "StorageMeta");
      out.text("checkpoint_id");
      out.global("pathlib._local", "PosixPath");
      out.text("/a/b");
      out.tuple(1);
      out.reduce();
      close(out);
    } else {
      out.none();
    }
    out.text("version");
    out.text("1.0.0");
  }
  if (metadata.extra_unknown) {
    out.text("mcore_data");
    out.global("megatron.core", "Something");
  }
  close(out);
  return std::move(out).finish();
}

ckpt::Status write_sharded(ckpt::Fs& fs, const std::string& folder, const std::vector<ShardedTensor>& tensors,
                           const std::vector<std::pair<std::string, ItemValue>>& values) {
  BuiltMetadata metadata;
  std::map<std::string, std::unique_ptr<AppendFile>> files;
  const auto file = [&](std::size_t number) -> Result<AppendFile*> {
    const std::string name = "__" + std::to_string(number) + "_0.distcp";
    if (!files.contains(name)) {
      TITAN_ASSIGN_OR_RETURN(files[name], AppendFile::create(fs, ckpt::join_path(folder, name)));
    }
    return files[name].get();
  };
  for (const auto& [name, value] : values) {
    TITAN_ASSIGN_OR_RETURN(AppendFile* const out, file(0));
    TITAN_ASSIGN_OR_RETURN(const ItemRange range, append_value(*out, value));
    metadata.values.push_back(
        {name, "__0_0.distcp", static_cast<std::int64_t>(range.offset), static_cast<std::int64_t>(range.length)});
  }
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const ShardedTensor& tensor = tensors[t];
    const std::string dtype = tensor.half ? "bfloat16" : "float32";
    BuiltTensor built{tensor.name, dtype, {tensor.shape.begin(), tensor.shape.end()}, {}};
    // Every combination of one interval per dimension.
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> boxes{{}};
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      std::vector<std::uint64_t> ends = d < tensor.cuts.size() ? tensor.cuts[d] : std::vector<std::uint64_t>{};
      ends.push_back(tensor.shape[d]);
      std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> next;
      for (const auto& box : boxes) {
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends) {
          next.push_back(box);
          next.back().emplace_back(begin, end);
          begin = end;
        }
      }
      boxes = std::move(next);
    }
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      BuiltChunk chunk;
      std::vector<std::uint64_t> sizes;
      std::vector<float> elements(1, 0);
      for (const auto& [begin, end] : boxes[b]) {
        chunk.offsets.push_back(static_cast<std::int64_t>(begin));
        chunk.sizes.push_back(static_cast<std::int64_t>(end - begin));
        sizes.push_back(end - begin);
      }
      // Row-major numbers of the box's elements in the tensor.
      std::vector<std::uint64_t> numbers{0};
      for (std::size_t d = 0; d < boxes[b].size(); ++d) {
        std::vector<std::uint64_t> wider;
        for (const std::uint64_t n : numbers)
          for (std::uint64_t i = boxes[b][d].first; i < boxes[b][d].second; ++i)
            wider.push_back(n * tensor.shape[d] + i);
        numbers = std::move(wider);
      }
      elements.clear();
      for (const std::uint64_t n : numbers) elements.push_back(tensor.all.value_or(static_cast<float>(1000 * t + n)));
      TITAN_ASSIGN_OR_RETURN(AppendFile* const out, file(b));
      std::vector<std::uint16_t> halves;
      for (const float element : elements)
        halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(element) >> 16));
      const auto bytes = tensor.half ? std::as_bytes(std::span(halves)) : std::as_bytes(std::span(elements));
      TITAN_ASSIGN_OR_RETURN(const ItemRange range, append_tensor(*out, dtype, sizes, bytes));
      chunk.file = "__" + std::to_string(b) + "_0.distcp";
      chunk.at = static_cast<std::int64_t>(range.offset);
      chunk.length = static_cast<std::int64_t>(range.length);
      // Chunks without elements share an index with their neighbour: torch keeps one entry.
      chunk.stored = !elements.empty();
      built.chunks.push_back(chunk);
    }
    metadata.tensors.push_back(built);
  }
  for (auto& [name, out] : files) TITAN_RETURN_IF_ERROR(out->finish());
  const std::string pickle = build_metadata(metadata);
  return ckpt::write_new_file(fs, ckpt::join_path(folder, ".metadata"), std::as_bytes(std::span(pickle)));
}

}  // namespace titan::convert::dcp::testing
