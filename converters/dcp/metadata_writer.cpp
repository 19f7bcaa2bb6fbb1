#include "converters/dcp/metadata_writer.h"

#include "ckpt/base/text.h"
#include "converters/pickle/pickle_names.h"
#include "converters/pickle/pickle_writer.h"

namespace titan::convert::dcp {
namespace {

std::string key_of(const WrittenItem& item) { return ckpt::joined(item.path, "."); }

// Begins an instance of module.name whose state is a dict. The caller then writes the key-value pairs and calls
// end_object().
void begin_object(PickleWriter& out, std::string_view module, std::string_view name) {
  out.global(module, name);
  out.new_object();
  out.empty_dict();
  out.mark();
}
void end_object(PickleWriter& out) {
  out.set_items();
  out.build();
}

void properties(PickleWriter& out, const std::string& dtype) {
  out.global(kMetadataModule, "TensorProperties");
  out.new_object();
  out.mark();
  out.global("torch", dtype);
  out.global("torch.serialization", "_get_layout");
  out.text("torch.strided");
  out.tuple(1);
  out.reduce();
  out.boolean(false);
  out.global(kMetadataModule, "_MEM_FORMAT_ENCODING");
  out.integer(0);
  out.tuple(1);
  out.reduce();
  out.boolean(false);
  out.tuple(5);
  out.build();
}

void entry(PickleWriter& out, const WrittenItem& item) {
  out.text(key_of(item));
  if (item.dtype.empty()) {
    out.global(kMetadataModule, "BytesStorageMetadata");
    out.new_object();
    return;
  }
  begin_object(out, kMetadataModule, "TensorStorageMetadata");
  out.text("properties");
  properties(out, item.dtype);
  out.text("size");
  out.size(item.shape);
  out.text("chunks");
  out.empty_list();
  begin_object(out, kMetadataModule, "ChunkStorageMetadata");
  out.text("offsets");
  out.size(std::vector<std::uint64_t>(item.shape.size(), 0));
  out.text("sizes");
  out.size(item.shape);
  end_object(out);
  out.append();
  end_object(out);
}

void storage(PickleWriter& out, const std::string& file, const WrittenItem& item) {
  begin_object(out, kMetadataModule, "MetadataIndex");
  out.text("fqn");
  out.text(key_of(item));
  out.text("index");
  if (item.dtype.empty()) {
    out.none();
  } else {
    out.integer(0);
    out.text("offset");
    out.size(std::vector<std::uint64_t>(item.shape.size(), 0));
  }
  end_object(out);
  begin_object(out, kFilesystemModule, "_StorageInfo");
  out.text("relative_path");
  out.text(file);
  out.text("offset");
  out.integer(static_cast<std::int64_t>(item.range.offset));
  out.text("length");
  out.integer(static_cast<std::int64_t>(item.range.length));
  end_object(out);
}

template <typename Body>
void dict(PickleWriter& out, const char* key, const std::vector<WrittenItem>& items, Body&& body) {
  out.text(key);
  out.empty_dict();
  out.mark();
  for (const WrittenItem& item : items) body(item);
  out.set_items();
}

}  // namespace

std::string encode_metadata(const std::string& file, const std::vector<WrittenItem>& items) {
  PickleWriter out(4);
  begin_object(out, kMetadataModule, "Metadata");
  dict(out, "state_dict_metadata", items, [&](const WrittenItem& item) { entry(out, item); });
  dict(out, "planner_data", items, [&](const WrittenItem& item) {
    out.text(key_of(item));
    if (item.path.size() > 3) out.mark();
    for (const std::string& part : item.path) out.text(part);
    out.tuple(item.path.size());
  });
  dict(out, "storage_data", items, [&](const WrittenItem& item) { storage(out, file, item); });
  out.text("storage_meta");
  out.none();
  out.text("version");
  out.text("1.0.0");
  end_object(out);
  return std::move(out).finish();
}

}  // namespace titan::convert::dcp
