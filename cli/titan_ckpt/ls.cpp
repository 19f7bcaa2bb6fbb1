#include "cli/titan_ckpt/ls.h"

#include <algorithm>

#include "ckpt/base/printed.h"
#include "ckpt/ops/list_runs.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/list.h"

namespace titan::cli {
namespace {

using ckpt::ListedStep;
using ckpt::ListReport;

bool only_foreign(const ckpt::ListReport& report) {
  return !report.steps.empty() &&
         std::ranges::none_of(report.steps, [](const ckpt::ListedStep& step) { return step.name.empty(); });
}

Cell state_cell(const ListedStep& step) {
  if (!step.valid) return {"invalid", Role::kError};
  if (!step.full) return {"partial", Role::kWarning};
  return {"whole", Role::kOk};  // judged by manifest and file sizes; only `verify` reads the tensors
}

std::string remarks(const ListedStep& step) {
  std::string text = step.resume ? "<- resume takes this one" : escape(step.reason);
  if (step.pinned) text += text.empty() ? "pinned" : "; pinned";
  if (!step.link.empty()) text += (text.empty() ? "a link to " : "; a link to ") + escape(step.link);
  if (step.moved_aside) text += std::string(text.empty() ? "" : "; ") + "moved aside by an interrupted tool";
  return text;
}

/// When a step was saved, in seconds since the epoch.
std::int64_t saved_at(const ListedStep& step) {
  return parse_utc(step.created).value_or(step.mtime_ns / 1'000'000'000);
}

/// The list of the runs in a folder.
std::string ls_runs_text(const std::vector<ckpt::ListedRun>& runs, const TextStyle& style) {
  Table table({{"run"},
               {"steps", Align::kRight},
               {"newest", Align::kRight},
               {"size", Align::kRight},
               {"age", Align::kRight},
               {"loss", Align::kRight},
               {}});
  std::uint64_t total = 0;
  for (const ckpt::ListedRun& run : runs) {
    total += run.bytes;
    std::string remark;
    if (run.newest && run.resume != run.newest->step)
      remark = run.resume ? "a resume takes " + std::to_string(*run.resume) : "no step can be resumed";
    table.row({{escape(run.name), Role::kName},
               std::to_string(run.steps),
               run.newest ? std::to_string(run.newest->step) : "-",
               format_bytes(run.bytes, style.exact_bytes),
               run.newest ? format_duration(static_cast<double>(style.now - saved_at(*run.newest))) : "-",
               run.last_loss ? format_rounded(*run.last_loss) + " at " + std::to_string(*run.last_step) : "-",
               {remark, Role::kWarning}});
  }
  table.row({"total", "", "", format_bytes(total, style.exact_bytes), "", "", ckpt::counted(runs.size(), "run")});
  return table.render(style.palette);
}

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

}  // namespace

std::string ls_text(const ListReport& report, const TextStyle& style) {
  std::string out;
  if (report.steps.empty()) {
    out += "no checkpoints in " + escape(report.folder) + "\n";
  } else {
    Table table(
        {{"step", Align::kRight}, {"size", Align::kRight}, {"age", Align::kRight}, {"mesh"}, {"state"}, {"id"}, {}});
    std::uint64_t total = 0;
    for (const ListedStep& step : report.steps) {
      table.row({{step.name.empty() ? std::to_string(step.step) : escape(step.name),
                  step.resume ? Role::kName : Role::kPlain},
                 format_bytes(step.bytes, style.exact_bytes),
                 format_duration(static_cast<double>(style.now - saved_at(step))),
                 step.mesh ? mesh_text(*step.mesh) : "?",
                 state_cell(step),
                 {step.id ? step.id->hex().substr(0, 12) : "?", Role::kDim},
                 {remarks(step), step.reason == "older" ? Role::kDim : Role::kPlain}});
      total += step.bytes;
    }
    const std::size_t count = report.steps.size();
    table.row({"total", format_bytes(total, style.exact_bytes), "", ckpt::counted(count, "step")});
    out += table.render(style.palette);
  }
  const std::string note = style.palette.paint(Role::kWarning, "note:") + " ";
  for (const ckpt::ListedDamage& damage : report.damaged) {
    out += note + escape(damage.name) + " (" + format_bytes(damage.bytes, style.exact_bytes) +
           ") is a damaged step that a save moved aside; ";
    out += damage.pinned ? "its .keep protects it\n" : "`titan-ckpt prune RUN --damaged` frees it\n";
  }
  for (const ListedStep& step : report.steps)
    if (step.moved_aside)
      out += note + "step " + std::to_string(step.step) + " lies in " + escape(step.path) +
             ": the next start of the run, or `titan-ckpt prune RUN`, puts it back\n";
  for (const std::string& name : report.leftovers)
    out += note + escape(name) +
           " is a leftover of an unfinished save or deletion; the next start of the run removes it\n";
  for (const std::string& name : report.foreign)
    out += note + escape(name) + " is not a checkpoint of this run; never touched\n";
  return out;
}

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

ckpt::Result<Answer> run_ls(const Request& request) {
  const ckpt::Result<ckpt::ListReport> report = convert::list_any(request.fs, request.command.positionals[0]);
  const bool none = !report.ok() && report.status().code == ckpt::Code::kNotFound;
  // The folder may contain several runs instead of being one. It then often also contains exports to other formats.
  if (none || (report.ok() && only_foreign(*report))) {
    const auto runs = ckpt::list_runs(request.fs, request.command.positionals[0]);
    if (runs.ok() && !runs->empty())
      return Answer{.text = request.json ? ls_runs_json(request.command.positionals[0], *runs)
                                         : ls_runs_text(*runs, request.style)};
  }
  if (!report.ok()) return report.status();
  return Answer{.text = request.json ? ls_json(*report) : ls_text(*report, request.style)};
}

}  // namespace titan::cli
