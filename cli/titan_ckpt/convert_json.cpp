#include "cli/titan_ckpt/convert.h"

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/carried.h"

namespace titan::cli {
namespace {

using convert::ConversionReport;
using convert::TensorReport;

}  // namespace

std::string convert_json(const ConversionReport& report) {
  JsonOut json("titan.convert/1");
  json.path("source", report.source);
  json.path("destination", report.destination);
  json.members("from", report.from_format, "to", report.to_format, "dry_run", report.dry_run, "step", report.step);
  if (report.id) json.text("id", report.id->hex());
  json.count("bytes", report.bytes);
  if (report.rounding) {
    json.begin_object("rounding");
    rounding_json(json, report.rounding->error, report.rounding->tensor);
    json.end_object();
  }
  json.list("files", report.files);
  json.each("tensors", report.tensors, [&](const TensorReport& tensor) {
    json.members("from", tensor.from, "to", tensor.to, "fate", convert::fate_name(tensor.fate));
    json.members("from_dtype", ckpt::dtype_name(tensor.from_dtype), "to_dtype", convert::type_name(tensor));
    json.members("shape", tensor.shape, "permuted", tensor.permuted);
  });
  json.list("notes", report.notes);
  return json.document();
}

}  // namespace titan::cli
