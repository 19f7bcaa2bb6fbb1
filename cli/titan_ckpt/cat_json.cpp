#include "cli/titan_ckpt/cat.h"

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::CatReport;

void values_json(JsonOut& json, const char* key, const std::vector<std::string>& values) {
  json.begin_array(key);
  for (const std::string& value : values) json.number(value);
  json.end_array();
}

}  // namespace

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

}  // namespace titan::cli
