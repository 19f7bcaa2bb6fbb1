#include "cli/titan_ckpt/ls.h"

#include "cli/kit/json_out.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::ListedStep;
using ckpt::ListReport;

void step_json(JsonOut& json, const ListedStep& step) {
  json.begin_object();
  json.count("step", step.step);
  json.path("path", step.path);
  json.flag("valid", step.valid);
  json.flag("full", step.full);
  json.flag("pinned", step.pinned);
  if (!step.link.empty()) json.path("link", step.link);
  if (step.moved_aside) json.flag("moved_aside", true);
  json.flag("resume", step.resume);
  json.text("reason", step.reason);
  json.count("bytes", step.bytes);
  if (step.id) {
    json.text("id", step.id->hex());
  } else {
    json.null("id");
  }
  if (step.mesh) {
    mesh_json(json, "mesh", *step.mesh);
  } else {
    json.null("mesh");
  }
  json.text("saved", format_utc(saved_at(step)));
  json.end_object();
}

}  // namespace

std::string ls_json(const ListReport& report) {
  JsonOut json;
  json.begin_object();
  json.text("schema", "titan.ls/1");
  json.path("folder", report.folder);
  const ListedStep* taken = nullptr;
  for (const ListedStep& step : report.steps)
    if (step.resume) taken = &step;
  if (taken != nullptr) {
    json.count("resume", taken->step);
  } else {
    json.null("resume");
  }
  json.begin_array("steps");
  for (const ListedStep& step : report.steps) step_json(json, step);
  json.end_array();
  json.begin_array("damaged");
  for (const ckpt::ListedDamage& damage : report.damaged) {
    json.begin_object();
    json.path("name", damage.name);
    json.count("bytes", damage.bytes);
    json.flag("pinned", damage.pinned);
    json.end_object();
  }
  json.end_array();
  json.paths("leftovers", "name", report.leftovers);
  json.paths("foreign", "name", report.foreign);
  json.end_object();
  return json.line();
}

}  // namespace titan::cli
