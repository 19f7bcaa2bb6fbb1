#include "ckpt/format/manifest_codec.h"

#include <algorithm>

#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

// The self-digest stands at a fixed place, so that it can be checked before any byte is interpreted.
constexpr std::size_t kDigits = 32;
constexpr std::string_view kZeros = "00000000000000000000000000000000";

Digest self_digest_of(std::string_view text) {
  Hasher hasher;
  for (const std::string_view part :
       {text.substr(0, kManifestPrefix.size()), kZeros, text.substr(kManifestPrefix.size() + kDigits)})
    hasher.update(std::as_bytes(std::span(part)));
  return hasher.digest();
}

bool has_prefix(std::string_view text) {
  return text.starts_with(kManifestPrefix) && text.size() > kManifestPrefix.size() + kDigits &&
         text[kManifestPrefix.size() + kDigits] == '"';
}

void write_stored(JsonWriter& out, const StoredTensor& tensor) {
  out.begin()
      .key("dtype")
      .value(dtype_name(tensor.dtype))
      .key("chunk")
      .value(tensor.chunk)
      .key("digest")
      .value(tensor.digest);
  out.key("pieces").begin_list();
  for (const Piece& piece : tensor.pieces) {
    out.begin_list()
        .value(piece.file)
        .value(piece.first_leaf)
        .value(piece.leaf_count)
        .value(piece.offset)
        .value(piece.row);
    if (piece.codec != Codec::kRaw) out.value(std::uint64_t{1});
    out.end_list();
  }
  out.end_list().end();
}

void write_parameter(JsonWriter& out, const ParameterRecord& record) {
  out.line().begin().key("name").value(record.meta.name).key("shape").begin_list();
  for (const std::uint64_t extent : record.meta.shape) out.value(extent);
  out.end_list().key("stage").value(record.meta.stage);
  if (record.model) write_stored(out.key("model"), *record.model);
  if (!record.slots.empty()) {
    out.key("slots").begin();
    for (const SlotTensor& slot : record.slots) write_stored(out.key(slot.name), slot.tensor);
    out.end().key("optimizer_step").value(record.optimizer_step);
  }
  out.end();
}

void write_file(JsonWriter& out, const FileEntry& file) {
  out.line()
      .begin()
      .key("path")
      .value(file.path)
      .key("role")
      .value(role_text(file.role))
      .key("bytes")
      .value(file.bytes);
  if (file.role == FileRole::kShard) {
    out.key("table_offset").value(file.table_offset).key("table_rows").value(file.table_rows);
    out.key("table").value(file.table).key("envelope").value(file.envelope);
  } else {
    out.key("digest").value(file.whole);
  }
  out.end();
}

}  // namespace

const char* role_text(FileRole role) {
  return role == FileRole::kShard ? "shard" : role == FileRole::kJson ? "json" : "derived";
}

std::string encode_manifest(const Manifest& manifest) {
  JsonWriter out;
  out.begin().key("self_digest").value(kZeros).line().key("format").begin().key("name").value(kFormatName);
  const bool zstd = manifest.uses(Codec::kZstd);
  out.key("major").value(manifest.major).key("minor").value(manifest.lowest_minor()).end();
  out.line().key("requires").begin_list();
  if (zstd) out.value("zstd");
  if (manifest.excluded) out.value("excluded");
  out.end_list().line().key("id").value(manifest.id).line().key("step").value(manifest.step);
  out.line().key("created").value(manifest.created).line().key("writer").value(manifest.writer);
  out.line().key("mesh").begin().key("pp").value(manifest.mesh.pp).key("dp").value(manifest.mesh.dp);
  out.key("tp").value(manifest.mesh.tp).end().line().key("stage_cuts").begin_list();
  for (const std::uint32_t cut : manifest.stage_cuts) out.value(cut);
  out.end_list().line().key("leaf_elements").value(manifest.leaf_elements).line().key("order").value("row_major");
  out.line().key("components").begin_list();
  for (const ComponentEntry& entry : manifest.components) {
    out.line().begin().key("name").value(entry.name).key("digest").value(entry.digest).key("bytes").value(entry.bytes);
    out.key("stored_bytes").value(entry.stored_bytes).key("files").value(entry.files).end();
  }
  out.line().end_list().line().key("files").begin_list();
  for (const FileEntry& file : manifest.files) write_file(out, file);
  out.line().end_list().line().key("parameters").begin_list();
  for (const ParameterRecord& record : manifest.parameters) write_parameter(out, record);
  out.line().end_list().line().key("config").string_map(manifest.config);
  if (manifest.derived_from) {
    out.line().key("derived_from").begin().key("id").value(manifest.derived_from->id);
    out.key("step").value(manifest.derived_from->step).key("path").value(manifest.derived_from->path).end();
  }
  out.line().end();
  std::string text = std::move(out).finish();
  return with_self_digest(std::move(text)).value();
}

Result<std::string> with_self_digest(std::string text) {
  if (!has_prefix(text)) return corrupt("the text does not begin as a manifest");
  text.replace(kManifestPrefix.size(), kDigits, self_digest_of(text).hex());
  return text;
}

Status check_self_digest(const std::string& what, std::string_view text) {
  if (!has_prefix(text))
    return corrupt(what + " does not begin as a manifest of a Titan checkpoint (" + std::to_string(text.size()) +
                   " bytes)");
  const std::string_view stored = text.substr(kManifestPrefix.size(), kDigits);
  const std::string found = self_digest_of(text).hex();
  if (stored != found)
    return corrupt(what + ": its self-digest does not match its bytes (it says " + std::string(stored) + ", found " +
                   found + ")");
  return ok_status();
}

}  // namespace titan::ckpt
