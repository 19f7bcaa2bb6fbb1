#include "cli/titan_ckpt/strip.h"

#include "cli/kit/values.h"
#include "cli/titan_ckpt/carried.h"
#include "cli/titan_ckpt/rounding.h"

namespace titan::cli {

std::string strip_json(const ckpt::StripReport& report) {
  JsonOut json("titan.strip/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.members("written", report.written, "step", report.step, "source_id", report.old_id.hex());
  digest_json(json, "id", report.new_id);
  for (const auto& [key, names] : {std::pair("kept", &report.kept), std::pair("dropped", &report.dropped),
                                   std::pair("rewritten", &report.rewritten)})
    json.list(key, *names);
  json.count("dropped_bytes", report.dropped_bytes);
  if (report.dtype) {
    json.begin_object("conversion");
    json.members("dtype", ckpt::dtype_name(*report.dtype), "rounding", "nearest, ties to even");
    rounding_json(json, report.error, report.worst_tensor);
    json.end_object();
  }
  json.path("full_checkpoint", report.full_from);
  json.flag("verified", report.verified);
  carried_json(json, report.files);
  return json.document();
}

}  // namespace titan::cli
