#include "cli/titan_ckpt/lr.h"

#include <algorithm>
#include <cmath>

#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "cli/kit/curve.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/carried.h"

namespace titan::cli {
namespace {

using ckpt::LrPreview;

constexpr std::size_t kWidest = 100;

std::string phase_table(const std::vector<ckpt::LrPhase>& phases, const TextStyle& style) {
  Table table({{"from step", Align::kRight},
               {"kind"},
               {"start", Align::kRight},
               {"end", Align::kRight},
               {"origin", Align::kRight},
               {"length", Align::kRight}});
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const ckpt::LrPhase& p = phases[i];
    // A phase that the next one replaces from its first step on never applies.
    if (i + 1 < phases.size() && phases[i + 1].first == p.first) continue;
    table.row({std::to_string(p.first), ckpt::phase_kind_name(p.kind), format_rounded(p.start, 6),
               format_rounded(p.end, 6), format_rounded(p.origin, 9), format_rounded(p.length, 9)});
  }
  return table.render(style.palette, "  ");
}

std::string settings_table(const ckpt::LrSettings& settings, const TextStyle& style) {
  Table table({{}, {}});
  for (const auto& [key, value] : ckpt::lr_rows(settings)) table.row({escape(key), escape(value)});
  return table.render(style.palette, "  ");
}

std::string drawing(const std::vector<ckpt::LrPhase>& before, const std::vector<ckpt::LrPhase>* after,
                    std::uint64_t step, std::uint64_t last, std::size_t width, std::size_t height,
                    const TextStyle& style) {
  Curve curve;
  curve.old_phases = before;
  if (after != nullptr) curve.new_phases = *after;
  curve.last = last;
  curve.resume = step + 1;
  curve.width = std::min(width, kWidest);
  curve.height = height;
  return curve_text(curve, style.palette);
}

std::string change(double from, double to) {
  if (from == to) return "no jump";
  if (from == 0) return "from 0";
  if (to / from >= 3) return format_rounded(to / from, 3) + " times";
  const double share = (to - from) / from * 100;
  const std::string digits = format_rounded(std::fabs(share), 3);
  return std::string(share > 0 ? "+" : "-") + digits + " %";
}

// Rates at interesting steps: around the resume, in the middle of the remaining steps, and at the end.
std::string numbers(const ckpt::LrSchedule& before, const LrPreview& preview, const TextStyle& style) {
  Table table({{"step", Align::kRight}, {"before", Align::kRight}, {"after", Align::kRight}, {"change"}});
  std::vector<std::uint64_t> steps{preview.step, preview.step + 1, preview.step + 1 + (preview.last - preview.step) / 2,
                                   preview.last};
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (const std::uint64_t n : steps) {
    if (n == 0) continue;
    const double old_rate = ckpt::lr_at(before.phases, n), new_rate = ckpt::lr_at(preview.after.phases, n);
    table.row({std::to_string(n), format_rounded(old_rate, 6), format_rounded(new_rate, 6),
               n <= preview.step       ? "the past stays"
               : n == preview.step + 1 ? "next step: " + change(old_rate, new_rate)
               : old_rate == new_rate  ? ""
                                       : change(old_rate, new_rate)});
  }
  return table.render(style.palette, "  ");
}

std::string list(const std::vector<std::string>& lines, const std::string& indent = "  ") {
  std::string text;
  for (const std::string& line : lines) text += indent + escape(line) + "\n";
  return text;
}

std::string policies(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width) {
  std::string out =
      heading(style.palette, "what each policy makes of it (lr_scheduler.on_change, or `titan-ckpt lr set --policy`)");
  Table table({{"policy"},
               {"step " + std::to_string(report.step + 1), Align::kRight},
               {"jump"},
               {"last step", Align::kRight},
               {}});
  for (const LrPreview& p : report.previews) {
    if (!p.refused.ok()) {
      table.row({ckpt::policy_name(p.policy), "", "", "", {"refused", Role::kWarning}});
    } else {
      table.row({ckpt::policy_name(p.policy), format_rounded(p.next_after, 6), change(p.next_before, p.next_after),
                 format_rounded(ckpt::lr_at(p.after.phases, p.last), 6), p.warnings.empty() ? "" : "see below"});
    }
  }
  out += table.render(style.palette, "  ");
  constexpr std::size_t kSmall = 6;
  for (const LrPreview& p : report.previews) {
    out += heading(style.palette, ckpt::policy_name(p.policy));
    if (!p.refused.ok()) {
      out += "  " + escape(p.refused.message) + "\n" + list(p.refused.causes, "    ");
      continue;
    }
    out +=
        list(p.warnings) + drawing(report.schedule.phases, &p.after.phases, report.step, p.last, width, kSmall, style);
  }
  return out;
}

}  // namespace

std::string lr_show_text(const ckpt::LrShowReport& report, const TextStyle& style, std::size_t width) {
  const std::vector<ckpt::LrPhase>& phases = report.schedule.phases;
  Facts facts;
  facts.add("checkpoint", escape(report.path));
  facts.add("step", std::to_string(report.step) +
                        (report.training_steps > 0 ? " of " + std::to_string(report.training_steps) : ""));
  facts.add("next rate",
            format_rounded(ckpt::lr_at(phases, report.step + 1), 6) + " at step " + std::to_string(report.step + 1));
  facts.add("curve ends", "step " + std::to_string(ckpt::curve_end(phases)) + ", then " +
                              format_rounded(ckpt::lr_at(phases, ckpt::curve_end(phases) + 1), 6));
  std::string out =
      facts.render(style.palette) + "\n" + drawing(phases, nullptr, report.step, report.last, width, 10, style);
  out += heading(style.palette, "phases") + phase_table(phases, style);
  out += heading(style.palette, "accepted settings") + settings_table(report.schedule.accepted, style);
  if (!report.config) return out;
  const std::string name = escape(report.config->path);
  if (report.changed.empty()) return out + "\n" + name + " agrees: it shapes no other curve\n";
  return out + heading(style.palette, name + " differs") + list(report.changed) + policies(report, style, width);
}

std::string lr_preview_text(const ckpt::LrSetReport& report, const TextStyle& style, std::size_t width) {
  const LrPreview& p = report.preview;
  std::string out = style.palette.paint(Role::kName, std::string(ckpt::policy_name(p.policy)) + " to " +
                                                         std::to_string(p.after.accepted.total_steps) + " steps") +
                    ", from step " + std::to_string(p.step + 1) + " of " + escape(report.src) + "\n" +
                    list(report.changed) + "\n";
  out += drawing(report.before.phases, &p.after.phases, p.step, p.last, width, 10, style) + "\n" +
         numbers(report.before, p, style);
  for (const std::string& warning : p.warnings)
    out += "  " + style.palette.paint(Role::kWarning, "warning") + ": " + escape(warning) + "\n";
  return out + heading(style.palette, "a configuration with these lines resumes it without a flag") + report.toml;
}

std::string lr_written_text(const ckpt::LrSetReport& report, const TextStyle& style) {
  if (!report.written) return "\nnothing written: --dry-run\n";
  return "\n" + style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.new_id.hex() +
         (report.new_id == report.old_id ? " (the curve is the same)" : "") + "\n" +
         carried_text(report.files, report.verified, style);
}

}  // namespace titan::cli
