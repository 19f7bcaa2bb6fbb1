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
    json.flag("valid", step.valid);
    json.flag("goes", step.goes);
    json.flag("deleted", step.deleted);
    json.text("why", step.why);
    json.count("bytes", step.bytes);
  });
  json.each("damaged", report.damaged, [&](const ckpt::PrunedDamage& damage) {
    json.path("name", damage.name);
    json.flag("goes", damage.goes);
    json.flag("deleted", damage.deleted);
    json.text("why", damage.why);
    json.count("bytes", damage.bytes);
  });
  json.paths("restored", "path", report.restored);
  json.paths("leftovers", "name", report.leftovers);
  json.count("bytes_gone", report.bytes_gone);
  json.count("bytes_freed", report.bytes_freed);
  json.count("verified", report.verified);
  json.texts("failures", report.failures);
  return json.document();
}

}  // namespace titan::cli
