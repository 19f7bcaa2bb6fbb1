#include "cli/titan_ckpt/convert.h"

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/rounding.h"

namespace titan::cli {
namespace {

using convert::ConversionReport;
using convert::Fate;
using convert::TensorReport;

}  // namespace

std::string convert_json(const ConversionReport& report) {
  JsonOut json("titan.convert/1");
  json.path("source", report.source);
  json.path("destination", report.destination);
  json.text("from", report.from_format);
  json.text("to", report.to_format);
  json.flag("dry_run", report.dry_run);
  json.count("step", report.step);
  if (report.id) json.text("id", report.id->hex());
  json.count("bytes", report.bytes);
  if (report.rounding) {
    json.begin_object("rounding");
    rounding_json(json, report.rounding->error, report.rounding->tensor);
    json.end_object();
  }
  json.texts("files", report.files);
  json.each("tensors", report.tensors, [&](const TensorReport& tensor) {
    json.text("from", tensor.from);
    json.text("to", tensor.to);
    json.text("fate", convert::fate_name(tensor.fate));
    json.text("from_dtype", ckpt::dtype_name(tensor.from_dtype));
    json.text("to_dtype", ckpt::dtype_name(tensor.to_dtype));
    shape_json(json, "shape", tensor.shape);
    json.flag("permuted", tensor.permuted);
  });
  json.texts("notes", report.notes);
  return json.document();
}

}  // namespace titan::cli
