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
  json.text("compression", layout.codec);
  json.count("files", layout.files);
  json.count("stored_bytes", layout.stored_bytes == 0 ? std::nullopt : std::optional(layout.stored_bytes));
  json.end_object();
}

}  // namespace

std::string reshard_json(const ReshardReport& report) {
  JsonOut json("titan.reshard/1");
  json.path("source", report.source);
  json.path("path", report.dst);
  json.flag("dry_run", report.dry_run);
  json.text("id", report.id.hex());
  json.count("step", report.step);
  layout_json(json, "before", report.before);
  layout_json(json, "after", report.after);
  json.count("leaves", report.leaves);
  json.count("bytes", report.bytes);
  json.count("ranges", report.ranges);
  json.count("to_encode", report.to_encode);
  json.count("to_decode", report.to_decode);
  json.count("encoded", report.moved.encoded);
  json.count("decoded", report.moved.decoded);
  json.count("memory", report.memory);
  json.count("threads", report.threads);
  json.flag("hidden_from_resume", report.hidden_from_resume);
  json.each("files", report.files, [&](const ckpt::ReshardedFile& file) {
    json.path("path", file.path);
    json.count("pieces", file.pieces);
    json.count("leaves", file.leaves);
    json.count("bytes", file.bytes);
  });
  json.begin_array("left_behind");  // since derived files are carried, nothing is; scripts may ask for it all the same
  json.end_array();
  json.texts("carried", report.carried);
  json.texts("warnings", report.warnings);
  return json.document();
}

}  // namespace titan::cli
