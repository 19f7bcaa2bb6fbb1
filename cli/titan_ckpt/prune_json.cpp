#include "cli/titan_ckpt/prune.h"

#include "cli/kit/json_out.h"

namespace titan::cli {
namespace {

using ckpt::PrunedDamage;
using ckpt::PrunedStep;
using ckpt::PruneReport;

}  // namespace

std::string prune_json(const PruneReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.prune/1");
  json.path("folder", report.folder);
  json.flag("dry_run", report.dry_run);
  json.begin_array("steps");
  for (const PrunedStep& step : report.steps) {
    json.begin_object();
    json.count("step", step.step);
    json.path("path", step.path);
    json.flag("valid", step.valid);
    json.flag("goes", step.goes);
    json.flag("deleted", step.deleted);
    json.text("why", step.why);
    json.count("bytes", step.bytes);
    json.end_object();
  }
  json.end_array();
  json.begin_array("damaged");
  for (const PrunedDamage& damage : report.damaged) {
    json.begin_object();
    json.path("name", damage.name);
    json.flag("goes", damage.goes);
    json.flag("deleted", damage.deleted);
    json.text("why", damage.why);
    json.count("bytes", damage.bytes);
    json.end_object();
  }
  json.end_array();
  json.paths("restored", "path", report.restored);
  json.paths("leftovers", "name", report.leftovers);
  json.count("bytes_gone", report.bytes_gone);
  json.count("bytes_freed", report.bytes_freed);
  if (report.verified) {
    json.count("verified", *report.verified);
  } else {
    json.null("verified");
  }
  json.texts("failures", report.failures);
  json.end_object();
  return json.line();
}

}  // namespace titan::cli
