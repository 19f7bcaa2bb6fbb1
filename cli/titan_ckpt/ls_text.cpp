#include "cli/titan_ckpt/ls.h"

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::ListedStep;
using ckpt::ListReport;

Cell state_cell(const ListedStep& step) {
  if (!step.valid) return {"invalid", Role::kError};
  if (!step.full) return {"partial", Role::kWarning};
  return {"whole", Role::kOk};  // by sizes and manifest: whether it is sound only `verify` can say
}

std::string remarks(const ListedStep& step) {
  std::string text = step.resume ? "<- resume takes this one" : escape(step.reason);
  if (step.pinned) text += text.empty() ? "pinned" : "; pinned";
  if (!step.link.empty()) text += (text.empty() ? "a link to " : "; a link to ") + escape(step.link);
  if (step.moved_aside) text += std::string(text.empty() ? "" : "; ") + "moved aside by an interrupted tool";
  return text;
}

}  // namespace

std::int64_t saved_at(const ListedStep& step) {
  return parse_utc(step.created).value_or(step.mtime_ns / 1'000'000'000);
}

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
    table.row({"total", format_bytes(total, style.exact_bytes), "",
               std::to_string(count) + (count == 1 ? " step" : " steps")});
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
  table.row({"total", "", "", format_bytes(total, style.exact_bytes), "", "",
             std::to_string(runs.size()) + (runs.size() == 1 ? " run" : " runs")});
  return table.render(style.palette);
}

}  // namespace titan::cli
