// The LR schedule in `plan`: plotted, and in numbers.
#include <algorithm>
#include <map>

#include "ckpt/plan/lr_policy.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/curve.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_train/plan.h"
#include "recipe/change/change_lines.h"

namespace titan::cli {
namespace {

using ckpt::LrPhase;

constexpr std::size_t kRows = 10, kSmallRows = 6;

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
  }
  return out;
}

/// The steps at which `lr` bends, with their rates, between the first and the last step to train.
std::string numbers(const std::vector<LrPhase>& lr, const std::vector<LrPhase>* before, std::uint64_t first,
                    std::uint64_t last, const Palette& palette) {
  std::map<std::uint64_t, std::string> steps;
  const auto mark = [&](std::uint64_t step, const std::string& what) {
    std::string& text = steps[step];
    text += (text.empty() ? "" : ", ") + what;
  };
  mark(first, "first step");
  for (std::size_t i = 0; i < lr.size(); ++i) {
    const bool covered = i + 1 < lr.size() && lr[i + 1].first <= lr[i].first;  // it never applies
    if (!covered && lr[i].first > first && lr[i].first <= last)
      mark(lr[i].first, std::string(ckpt::phase_kind_name(lr[i].kind)) + " from here");
  }
  mark(last, "last step");
  Table table({{"step", Align::kRight}, {"learning rate", Align::kRight}, {before ? "before" : "", Align::kRight}, {}});
  for (const auto& [step, what] : steps)
    table.row({std::to_string(step),
               format_rounded(ckpt::lr_at(lr, step), 6),
               before ? format_rounded(ckpt::lr_at(*before, step), 6) : "",
               {what, Role::kDim}});
  return table.render(palette, "  ");
}

Curve curve_of(const std::vector<LrPhase>& lr, const PlanReport& report, std::size_t rows) {
  const train::Forecast& f = report.forecast;
  Curve curve;
  curve.last = std::max(f.last_step, f.first_step);
  curve.height = rows;
  curve.width = 74;
  if (const recipe::StoredRun* stored = report.stored()) {
    curve.resume = f.first_step;
    curve.old_phases = stored->lr.phases;
    if (lr != stored->lr.phases) curve.new_phases = lr;
    if (!curve.old_phases.empty()) curve.last = std::max(curve.last, ckpt::curve_end(curve.old_phases));
    if (curve.old_phases.empty()) curve.old_phases = lr;
  } else {
    curve.old_phases = lr;
  }
  return curve;
}

/// Plots what each policy would do with the changed settings, if none is chosen yet.
std::string choices(const PlanReport& report, const Palette& palette) {
  const std::vector<ckpt::LrPreview>& previews = report.start->continuation.previews;
  std::string out;
  for (const std::string& line : recipe::preview_table(previews)) out += "  " + escape(line) + "\n";
  for (const ckpt::LrPreview& preview : previews) {
    if (!preview.refused.ok()) continue;
    out += "\n  " + std::string(ckpt::policy_name(preview.policy)) + "\n";
    out += indented(curve_text(curve_of(preview.after.phases, report, kSmallRows), palette));
  }
  return out;
}

}  // namespace

std::string plan_curve_text(const PlanReport& report, const Palette& palette) {
  const train::Forecast& f = report.forecast;
  std::string out = "\n" + palette.paint(Role::kName, "learning rate") + "\n";
  const recipe::StoredRun* stored = report.stored();
  if (stored && !report.start->continuation.policy && !report.start->continuation.previews.empty())
    return out + choices(report, palette);
  if (f.first_step > f.last_step || report.lr.phases.empty()) return out + "  no step left\n";
  const bool changed = stored && !stored->lr.phases.empty() && stored->lr.phases != report.lr.phases;
  const ckpt::LrPreview* chosen = stored ? report.start->continuation.chosen() : nullptr;
  if (changed && chosen)
    for (const std::string& line : recipe::preview_table({*chosen})) out += "  " + escape(line) + "\n";
  out += indented(curve_text(curve_of(report.lr.phases, report, kRows), palette));
  return out + numbers(report.lr.phases, changed ? &stored->lr.phases : nullptr, f.first_step, f.last_step, palette);
}

}  // namespace titan::cli
