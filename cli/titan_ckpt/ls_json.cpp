#include "cli/titan_ckpt/ls.h"

#include "cli/kit/json_out.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::ListedStep;
using ckpt::ListReport;

void step_json(JsonOut& json, const ListedStep& step) {
  json.count("step", step.step);
  json.path("path", step.path);
  json.members("valid", step.valid, "full", step.full, "pinned", step.pinned);
  if (!step.link.empty()) json.path("link", step.link);
  if (step.moved_aside) json.flag("moved_aside", true);
  json.members("resume", step.resume, "reason", step.reason, "bytes", step.bytes);
  json.text_or_null("id", step.id ? step.id->hex() : "");
  if (step.mesh) {
    mesh_json(json, "mesh", *step.mesh);
  } else {
    json.null("mesh");
  }
  json.text("saved", format_utc(saved_at(step)));
}

}  // namespace

std::string ls_json(const ListReport& report) {
  JsonOut json("titan.ls/1");
  json.path("folder", report.folder);
  std::optional<std::uint64_t> taken;
  for (const ListedStep& step : report.steps)
    if (step.resume) taken = step.step;
  json.count("resume", taken);
  json.each("steps", report.steps, [&](const ListedStep& step) { step_json(json, step); });
  json.each("damaged", report.damaged, [&](const ckpt::ListedDamage& damage) {
    json.path("name", damage.name);
    json.members("bytes", damage.bytes, "pinned", damage.pinned);
  });
  json.paths("leftovers", "name", report.leftovers);
  json.paths("foreign", "name", report.foreign);
  return json.document();
}

std::string ls_runs_json(const std::string& folder, const std::vector<ckpt::ListedRun>& runs) {
  JsonOut json("titan.ls-runs/1");
  json.path("folder", folder);
  json.each("runs", runs, [&](const ckpt::ListedRun& run) {
    json.path("name", run.name);
    json.members("steps", run.steps, "newest", run.newest ? std::optional(run.newest->step) : std::nullopt);
    json.members("resume", run.resume, "bytes", run.bytes);
    json.text_or_null("saved", run.newest ? format_utc(saved_at(*run.newest)) : "");
    json.members("last_step", run.last_step, "last_loss", run.last_loss);
  });
  return json.document();
}

}  // namespace titan::cli
