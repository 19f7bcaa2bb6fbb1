#include "cli/ui/report_strip.h"

#include "cli/ui/report_lr.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {
namespace {

std::string named(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : escape(joined(names, ", "));
}

}  // namespace

std::string strip_text(const ckpt::StripReport& report, const TextStyle& style) {
  Table table({{}, {}});
  const auto row = [&](const char* name, const std::string& value) { table.row({{name, Role::kDim}, value}); };
  row("source", escape(report.src) + " (step " + std::to_string(report.step) + ", id " + report.old_id.hex() + ")");
  row("keeps", named(report.kept) + "; parameters " + format_bytes(report.model_bytes, style.exact_bytes));
  row("drops", named(report.dropped) +
                   (report.dropped.empty() ? "" : "; " + format_bytes(report.dropped_bytes, style.exact_bytes)));
  if (report.dtype) {
    row("converts", "to " + std::string(ckpt::dtype_name(*report.dtype)) + ", rounding to nearest, ties to even");
    if (report.written) row("rounding", rounding_text(report.error, report.worst_tensor));
  }
  if (!report.full_from.empty())
    row("resume",
        "refused from now on: no " + named(report.dropped) + "; the full checkpoint is " + escape(report.full_from));
  std::string out = table.render(style.palette) + "\n";
  if (!report.written) return out + "nothing written: --dry-run\n";
  out += style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.new_id.hex() + "\n";
  if (!report.rewritten.empty())
    out += "  " + std::to_string(report.rewritten.size()) + (report.rewritten.size() == 1 ? " file" : " files") +
           " written anew\n";
  return out + carried_text(report.files, report.verified, style);
}

std::string strip_json(const ckpt::StripReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.strip/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.flag("written", report.written);
  json.count("step", report.step);
  json.text("source_id", report.old_id.hex());
  if (report.new_id == ckpt::Digest{})
    json.null("id");
  else
    json.text("id", report.new_id.hex());
  for (const auto& [key, names] : {std::pair("kept", &report.kept), std::pair("dropped", &report.dropped),
                                   std::pair("rewritten", &report.rewritten)}) {
    json.begin_array(key);
    for (const std::string& name : *names) json.text(name);
    json.end_array();
  }
  json.count("dropped_bytes", report.dropped_bytes);
  if (report.dtype) {
    json.begin_object("conversion");
    json.text("dtype", ckpt::dtype_name(*report.dtype));
    json.text("rounding", "nearest, ties to even");
    rounding_json(json, report.error, report.worst_tensor);
    json.end_object();
  }
  json.path("full_checkpoint", report.full_from);
  json.flag("verified", report.verified);
  carried_json(json, report.files);
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
