#include "cli/ui/reports.h"
#include "cli/ui/table.h"
#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {

namespace {

using ckpt::CatReport;

/// "[0:10, 3]": what was asked for, with every end spelled out.
std::string slice_text(const ckpt::Slice& slice) {
  std::string text = "[";
  for (const ckpt::Slice::Extent& extent : slice.extents)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent.begin) +
            (extent.dropped ? "" : ":" + std::to_string(extent.end));
  return text + "]";
}

void values_json(JsonOut& json, const char* key, const std::vector<std::string>& values) {
  json.begin_array(key);
  for (const std::string& value : values) json.number(value);
  json.end_array();
}

}  // namespace

std::string cat_text(const CatReport& report, const TextStyle& style) {
  const ckpt::TensorRow& t = report.tensor;
  Table table({{}, {}});
  const auto row = [&](const char* name, const std::string& value) { table.row({{name, Role::kDim}, value}); };
  row("tensor", escape(t.name) + " (" + t.component + ", stage " + std::to_string(t.stage) + ")");
  row("checkpoint", escape(report.path) + " step " + std::to_string(report.step));
  row("dtype", std::string(ckpt::dtype_name(t.dtype)));
  row("shape", shape_text(t.shape));
  if (!report.slice.whole() || report.slice.shape() != t.shape)
    row("slice", slice_text(report.slice) + " -> " + shape_text(report.slice.shape()));
  row("elements", format_count(report.elements));
  row("size", format_bytes(report.elements * ckpt::dtype_size(t.dtype), style.exact_bytes));
  row("leaves", format_count(t.leaves));
  row("digest", digest_text(t.digest));
  if (report.last.empty()) {
    row("values", joined(report.first));
  } else {
    row("first", joined(report.first));
    row("last", joined(report.last));
  }
  if (!report.out.empty()) {
    std::string what = escape(report.out) + "  " + format_bytes(report.out_bytes, style.exact_bytes);
    if (report.out_dtype != t.dtype)
      what += "  " + std::string(ckpt::dtype_name(t.dtype)) + " widened to " +
              std::string(ckpt::dtype_name(report.out_dtype)) + " (exact)";
    row("written", what);
  }
  return table.render(style.palette);
}

std::string cat_json(const CatReport& report) {
  const ckpt::TensorRow& t = report.tensor;
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.cat/1");
  json.path("path", report.path);
  digest_json(json, "id", report.id);
  json.count("step", report.step);
  json.text("component", t.component);
  json.text("name", t.name);
  json.text("dtype", ckpt::dtype_name(t.dtype));
  shape_json(json, "shape", t.shape);
  digest_json(json, "digest", t.digest);
  json.count("stage", t.stage);
  json.text("slice", slice_text(report.slice));
  shape_json(json, "slice_shape", report.slice.shape());
  json.count("elements", report.elements);
  json.count("bytes", t.bytes);
  json.count("leaves", t.leaves);
  values_json(json, "first", report.first);
  values_json(json, "last", report.last);
  if (!report.out.empty()) {
    json.path("out", report.out);
    json.text("out_dtype", ckpt::dtype_name(report.out_dtype));
    json.count("out_bytes", report.out_bytes);
  }
  json.end_object();
  return json.line();
}

}  // namespace titan::ui
