#include "cli/titan_ckpt/cat.h"

#include "ckpt/base/text.h"
#include "cli/kit/json_out.h"
#include "cli/kit/stop.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/foreign_view.h"

namespace titan::cli {
namespace {

using ckpt::CatReport;

void values_json(JsonOut& json, const char* key, const std::vector<std::string>& values) {
  json.begin_array(key);
  for (const std::string& value : values) json.number(value);
  json.end_array();
}

}  // namespace

std::string slice_text(const ckpt::Slice& slice) {
  std::string text = "[";
  for (const ckpt::Slice::Extent& extent : slice.extents)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent.begin) +
            (extent.dropped ? "" : ":" + std::to_string(extent.end));
  return text + "]";
}

std::string cat_text(const CatReport& report, const TextStyle& style) {
  const ckpt::TensorRow& t = report.tensor;
  Facts facts;
  facts.add("tensor", escape(t.name) + " (" + t.component + ", stage " + std::to_string(t.stage) + ")");
  facts.add("checkpoint", escape(report.path) + " step " + std::to_string(report.step));
  facts.add("dtype", std::string(ckpt::dtype_name(t.dtype)));
  facts.add("shape", shape_text(t.shape));
  if (!report.slice.whole() || report.slice.shape() != t.shape)
    facts.add("slice", slice_text(report.slice) + " -> " + shape_text(report.slice.shape()));
  facts.add("elements", format_count(report.elements));
  facts.add("size", format_bytes(report.elements * ckpt::dtype_size(t.dtype), style.exact_bytes));
  facts.add("leaves", format_count(t.leaves));
  facts.add("digest", digest_text(t.digest));
  if (report.last.empty()) {
    facts.add("values", ckpt::joined(report.first, " "));
  } else {
    facts.add("first", ckpt::joined(report.first, " "));
    facts.add("last", ckpt::joined(report.last, " "));
  }
  if (!report.out.empty()) {
    std::string what = escape(report.out) + "  " + format_bytes(report.out_bytes, style.exact_bytes);
    if (report.out_dtype != t.dtype)
      what += "  " + std::string(ckpt::dtype_name(t.dtype)) + " widened to " +
              std::string(ckpt::dtype_name(report.out_dtype)) + " (exact)";
    facts.add("written", what);
  }
  return facts.render(style.palette);
}

std::string cat_json(const CatReport& report) {
  const ckpt::TensorRow& t = report.tensor;
  JsonOut json("titan.cat/1");
  json.path("path", report.path);
  digest_json(json, "id", report.id);
  json.members("step", report.step, "component", t.component, "name", t.name, "dtype", ckpt::dtype_name(t.dtype));
  json.list("shape", t.shape);
  digest_json(json, "digest", t.digest);
  json.members("stage", t.stage, "slice", slice_text(report.slice), "slice_shape", report.slice.shape());
  json.members("elements", report.elements, "bytes", t.bytes, "leaves", t.leaves);
  values_json(json, "first", report.first);
  values_json(json, "last", report.last);
  if (!report.out.empty()) {
    json.path("out", report.out);
    json.members("out_dtype", ckpt::dtype_name(report.out_dtype), "out_bytes", report.out_bytes);
  }
  return json.document();
}

ckpt::Result<Answer> run_cat(const Request& request) {
  ckpt::CatOptions options;
  options.cancel = stop_on_signals();
  options.checkpoint = convert::resolve_any(request.fs, request.command.positionals[0]);
  options.tensor = request.command.positionals[1];
  options.open = [&](ckpt::Fs& fs, const std::string& path) {
    return convert::open_for_tensor(fs, path, options.tensor);
  };
  options.out = request.command.value("output").value_or("");
  if (request.command.has("output") && options.out.empty())
    return ckpt::invalid("`--output` is empty, expected the name of a file");
  TITAN_ASSIGN_OR_RETURN(const ckpt::CatReport report, ckpt::cat_tensor(request.fs, options));
  Answer answer{.text = request.json ? cat_json(report) : cat_text(report, request.style)};
  if (!options.out.empty() && !options.out.ends_with(".npy"))
    answer.notes.push_back(options.out + " is a NumPy file, though it is not called .npy: read it with numpy.load");
  return answer;
}

}  // namespace titan::cli
