#include "cli/titan_ckpt/merge.h"

#include "cli/kit/values.h"

namespace titan::cli {

std::string merge_json(const ckpt::MergeReport& report) {
  JsonOut json("titan.merge/1");
  json.path("destination", report.dst);
  json.members("written", !report.dry_run, "step", report.step);
  digest_json(json, "id", report.id);
  json.each("sources", report.sources, [&](const ckpt::MergeSource& source) {
    json.path("path", source.path);
    source_step_json(json, source.step, source.id);
    digest_json(json, "id", source.id);
    json.real("weight", source.weight);
  });
  if (report.nearest) {
    json.begin_object("decay");
    json.members("nearest", decay_name(report.nearest->kind), "gap", report.nearest->gap);
    json.begin_array("intervals");
    for (std::size_t i = 0; i < report.factors.size(); ++i) {
      json.begin_object();
      json.members("first", report.sources[i].step + 1, "last", report.sources[i + 1].step, "factor",
                   report.factors[i]);
      json.end_object();
    }
    json.end_array();
    if (report.after.empty())
      json.null("phases");
    else
      lr_phases_json(json, report.after);
    json.end_object();
  } else {
    json.null("decay");
  }
  json.members("tensors", report.tensors, "bytes", report.bytes, "carried", report.carried, "notes", report.notes,
               "warnings", report.warnings);
  return json.document();
}

}  // namespace titan::cli
