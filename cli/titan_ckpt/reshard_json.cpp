#include "cli/titan_ckpt/reshard.h"

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::ReshardReport;
using ckpt::StorageLayout;

void layout_json(JsonOut& json, std::string_view key, const StorageLayout& layout) {
  json.begin_object(key);
  mesh_json(json, "mesh", layout.mesh);
  json.text_or_null("stages", layout.stages);
  json.members("compression", layout.codec, "files", layout.files);
  json.members("stored_bytes", layout.stored_bytes == 0 ? std::nullopt : std::optional(layout.stored_bytes));
  json.end_object();
}

}  // namespace

std::string reshard_json(const ReshardReport& report) {
  JsonOut json("titan.reshard/1");
  json.path("source", report.source);
  json.path("path", report.dst);
  json.members("dry_run", report.dry_run, "id", report.id.hex(), "step", report.step);
  layout_json(json, "before", report.before);
  layout_json(json, "after", report.after);
  json.members("leaves", report.leaves, "bytes", report.bytes, "ranges", report.ranges, "to_encode", report.to_encode);
  json.members("to_decode", report.to_decode, "encoded", report.moved.encoded, "decoded", report.moved.decoded);
  json.members("memory", report.memory, "threads", report.threads, "hidden_from_resume", report.hidden_from_resume);
  json.each("files", report.files, [&](const ckpt::ReshardedFile& file) {
    json.path("path", file.path);
    json.members("pieces", file.pieces, "leaves", file.leaves, "bytes", file.bytes);
  });
  json.begin_array("left_behind");  // since derived files are carried, nothing is; scripts may ask for it all the same
  json.end_array();
  json.members("carried", report.carried, "warnings", report.warnings);
  return json.document();
}

}  // namespace titan::cli
