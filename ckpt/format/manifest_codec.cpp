#include "ckpt/format/manifest_codec.h"

#include <algorithm>

#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

// The self-digest is at a fixed offset, so that it can be checked before any byte is interpreted.
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
  out.begin().members("dtype", dtype_name(tensor.dtype), "chunk", tensor.chunk, "digest", tensor.digest);
  out.key("pieces").begin_list();
  for (const Piece& piece : tensor.pieces) {
    out.begin_list().value(piece.file).value(piece.first_leaf).value(piece.leaf_count);
    out.value(piece.offset).value(piece.row);
    if (piece.codec != Codec::kRaw) out.value(std::uint64_t{1});
    out.end_list();
  }
  out.end_list().end();
}

void write_parameter(JsonWriter& out, const ParameterRecord& record) {
  out.line().begin().members("name", record.meta.name, "shape", record.meta.shape, "stage", record.meta.stage);
  if (record.model) write_stored(out.key("model"), *record.model);
  if (!record.slots.empty()) {
    out.key("slots").begin();
    for (const SlotTensor& slot : record.slots) write_stored(out.key(slot.name), slot.tensor);
    out.end().key("optimizer_step").value(record.optimizer_step);
  }
  out.end();
}

void write_file(JsonWriter& out, const FileEntry& file) {
  out.line().begin().members("path", file.path, "role", role_text(file.role), "bytes", file.bytes);
  if (file.role == FileRole::kShard) {
    out.members("table_offset", file.table_offset, "table_rows", file.table_rows);
    out.members("table", file.table, "envelope", file.envelope);
  } else {
    out.key("digest").value(file.whole);
  }
  out.end();
}

void write_derived_from(JsonWriter& out, const DerivedFrom& from) {
  out.line().key("derived_from").begin().members("id", from.id, "step", from.step, "path", from.path);
  if (!from.merged.empty()) {
    out.key("merged").begin_list();
    for (const MergedSource& source : from.merged) {
      out.line().begin().members("id", source.id, "step", source.step, "path", source.path);
      out.members("weight", source.weight).end();
    }
    out.end_list();
  }
  out.end();
}

}  // namespace

const char* role_text(FileRole role) {
  return role == FileRole::kShard ? "shard" : role == FileRole::kJson ? "json" : "derived";
}

std::string encode_manifest(const Manifest& manifest) {
  JsonWriter out;
  const bool zstd = manifest.uses(Codec::kZstd);
  std::vector<std::string> required;
  if (zstd) required.push_back("zstd");
  if (manifest.excluded) required.push_back("excluded");
  if (manifest.mixture) required.push_back("mixture");
  out.begin().key("self_digest").value(kZeros).line().key("format").begin();
  out.members("name", kFormatName, "major", manifest.major, "minor", manifest.lowest_minor()).end();
  out.lines("requires", required, "id", manifest.id);
  out.lines("step", manifest.step, "created", manifest.created, "writer", manifest.writer).line().key("mesh").begin();
  out.members("pp", manifest.mesh.pp, "dp", manifest.mesh.dp, "tp", manifest.mesh.tp).end();
  out.lines("stage_cuts", manifest.stage_cuts, "leaf_elements", manifest.leaf_elements, "order", "row_major");
  out.line().key("components").begin_list();
  for (const ComponentEntry& entry : manifest.components) {
    out.line().begin().members("name", entry.name, "digest", entry.digest, "bytes", entry.bytes);
    out.members("stored_bytes", entry.stored_bytes, "files", entry.files).end();
  }
  out.line().end_list().line().key("files").begin_list();
  for (const FileEntry& file : manifest.files) write_file(out, file);
  out.line().end_list().line().key("parameters").begin_list();
  for (const ParameterRecord& record : manifest.parameters) write_parameter(out, record);
  out.line().end_list().lines("config", manifest.config);
  if (const auto& from = manifest.derived_from) write_derived_from(out, *from);
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
