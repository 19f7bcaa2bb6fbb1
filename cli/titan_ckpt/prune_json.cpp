#include "cli/titan_ckpt/prune.h"

#include "cli/kit/json_out.h"

namespace titan::cli {

std::string prune_json(const ckpt::PruneReport& report) {
  JsonOut json("titan.prune/1");
  json.path("folder", report.folder);
  json.flag("dry_run", report.dry_run);
  json.each("steps", report.steps, [&](const ckpt::PrunedStep& step) {
    json.count("step", step.step);
    json.path("path", step.path);
    json.members("valid", step.valid, "goes", step.goes, "deleted", step.deleted, "why", step.why, "bytes", step.bytes,
                 "thins", step.thins, "thinned", step.thinned);
  });
  json.each("damaged", report.damaged, [&](const ckpt::PrunedDamage& damage) {
    json.path("name", damage.name);
    json.members("goes", damage.goes, "deleted", damage.deleted, "why", damage.why, "bytes", damage.bytes);
  });
  json.paths("restored", "path", report.restored);
  json.paths("leftovers", "name", report.leftovers);
  json.members("bytes_gone", report.bytes_gone, "bytes_freed", report.bytes_freed, "verified", report.verified);
  json.members("failures", report.failures);
  return json.document();
}

}  // namespace titan::cli
