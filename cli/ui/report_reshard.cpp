#include "cli/ui/reports.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {

namespace {

using ckpt::ReshardReport;
using ckpt::StorageLayout;

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return format_count(count) + " " + (count == 1 ? one : many);
}

/// "4x2 -> 8x4", or just "4x2 (as it was)".
std::string change(const std::string& before, const std::string& after) {
  return before == after ? before + " (as it was)" : before + " -> " + after;
}

std::string recoded(const ReshardReport& report) {
  std::string text;
  if (report.to_encode > 0) text = counted(report.to_encode, "leaf", "leaves") + " to compress";
  if (report.to_decode > 0)
    text += (text.empty() ? "" : ", ") + counted(report.to_decode, "leaf", "leaves") + " to decode";
  return text.empty() ? "nothing: stored leaves are moved as they are" : text;
}

void layout_json(JsonOut& json, std::string_view key, const StorageLayout& layout) {
  json.begin_object(key);
  mesh_json(json, "mesh", layout.mesh);
  if (layout.stages.empty())
    json.null("stages");
  else
    json.text("stages", layout.stages);
  json.text("compression", layout.codec);
  json.count("files", layout.files);
  if (layout.stored_bytes == 0)
    json.null("stored_bytes");
  else
    json.count("stored_bytes", layout.stored_bytes);
  json.end_object();
}

}  // namespace

std::string reshard_text(const ReshardReport& report, const TextStyle& style) {
  const auto bytes = [&](std::uint64_t value) { return format_bytes(value, style.exact_bytes); };
  Table table({{}, {}});
  const auto row = [&](const char* name, const std::string& value) { table.row({{name, Role::kDim}, value}); };
  row("from", escape(report.source) + " step " + std::to_string(report.step));
  row("to", escape(report.dst) + (report.dry_run ? " (dry run: nothing was written)" : ""));
  row("mesh", change(mesh_text(report.before.mesh), mesh_text(report.after.mesh)) + "  (DP x PP)");
  if (!report.after.stages.empty()) row("stages", change(report.before.stages, report.after.stages));
  row("compression", change(report.before.codec, report.after.codec));
  row("files", change(format_count(report.before.files), format_count(report.after.files)));
  if (report.after.stored_bytes > 0)
    row("stored", change(bytes(report.before.stored_bytes), bytes(report.after.stored_bytes)));
  row(report.dry_run ? "to move" : "moved", bytes(report.bytes) + ", " + counted(report.leaves, "leaf", "leaves") +
                                                " in " + counted(report.ranges, "range", "ranges"));
  row("recoded", report.dry_run || report.to_encode + report.to_decode == 0
                     ? recoded(report)
                     : counted(report.moved.encoded, "leaf", "leaves") + " compressed, " +
                           counted(report.moved.decoded, "leaf", "leaves") + " decoded");
  row("memory", "at most " + bytes(report.memory) + " in " + counted(report.threads, "thread", "threads"));
  row("id", report.id.hex() + (report.dry_run ? "" : " (before and after)"));
  for (const std::string& path : report.carried) row("carried", escape(path) + " (came with the model)");
  std::string text = table.render(style.palette);
  if (!report.dry_run) return text;
  Table files({{"file"}, {"pieces", Align::kRight}, {"leaves", Align::kRight}, {"bytes", Align::kRight}});
  for (const ckpt::ReshardedFile& file : report.files)
    files.row({escape(file.path), format_count(file.pieces), format_count(file.leaves), bytes(file.bytes)});
  return text + "\n" + files.render(style.palette);
}

std::string reshard_json(const ReshardReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.reshard/1");
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
  json.begin_array("files");
  for (const ckpt::ReshardedFile& file : report.files) {
    json.begin_object();
    json.path("path", file.path);
    json.count("pieces", file.pieces);
    json.count("leaves", file.leaves);
    json.count("bytes", file.bytes);
    json.end_object();
  }
  json.end_array();
  json.begin_array("left_behind");  // since derived files are carried, nothing is; scripts may ask for it all the same
  json.end_array();
  json.begin_array("carried");
  for (const std::string& path : report.carried) json.text(path);
  json.end_array();
  json.begin_array("warnings");
  for (const std::string& warning : report.warnings) json.text(warning);
  json.end_array();
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
