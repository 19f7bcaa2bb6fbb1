#include "cli/titan_ckpt/merge.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/curve.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::MergeReport;

constexpr std::size_t kWidestCurve = 100;

std::string sources_table(const MergeReport& report, const TextStyle& style) {
  Table table({{"step", Align::kRight}, {"weight", Align::kRight}, {"id"}, {"source"}});
  for (const ckpt::MergeSource& source : report.sources)
    table.row({source_step(source.step, source.id).value_or("-"), format_rounded(source.weight, 6),
               ckpt::Digest{} == source.id ? "-" : source.id.hex().substr(0, 12), escape(source.path)});
  return table.render(style.palette, "  ");
}

std::string decay_title(const MergeReport& report) {
  constexpr double kSame = 1e-9, kNear = 0.15;  // of the rate
  const double gap = report.nearest->gap, n = static_cast<double>(report.sources.size());
  const std::uint64_t first = report.sources.front().step;
  const double end = static_cast<double>(first) + static_cast<double>(report.sources.back().step - first) * n / (n - 1);
  const std::string name = std::string("a ") + decay_name(report.nearest->kind);
  const std::string decay = name + " decay of the rate from step " + std::to_string(first) + " on, to 0 at step " +
                            std::to_string(std::llround(end));
  const std::string off = "off by " + format_rounded(gap, 2) + " of the rate";
  const std::string title = "what the weights stand for: ";
  if (gap < kSame) return title + decay;
  if (gap <= kNear) return title + "nearest is " + decay + " (" + off + " at most)";
  return title + "no decay that has a name (" + name + " one is " + off + ")";
}

std::string decay(const MergeReport& report, const TextStyle& style, std::size_t width) {
  std::string out = heading(style.palette, decay_title(report));
  const std::uint64_t first = report.sources.front().step, last = report.sources.back().step;
  if (!report.after.empty()) {
    Curve curve;
    curve.old_phases = report.before;
    curve.new_phases = report.after;
    curve.first = first > last - first ? first - (last - first) : 1;
    curve.last = last;
    curve.width = std::min(width, kWidestCurve);
    out += curve_text(curve, style.palette);
  }
  Table table({{"steps"},
               {"updates count", Align::kRight},
               {"rate at the end", Align::kRight},
               {"as if it were", Align::kRight}});
  for (std::size_t i = 0; i < report.factors.size(); ++i) {
    const std::uint64_t end = report.sources[i + 1].step;
    const bool known = !report.before.empty();
    table.row({std::to_string(report.sources[i].step + 1) + " to " + std::to_string(end),
               format_rounded(report.factors[i], 6), known ? format_rounded(ckpt::lr_at(report.before, end), 6) : "-",
               known ? format_rounded(ckpt::lr_at(report.after, end), 6) : "-"});
  }
  return out + table.render(style.palette, "  ");
}

}  // namespace

std::string merge_text(const MergeReport& report, const TextStyle& style, std::size_t width) {
  const std::optional<std::string> step = source_step(report.step, report.sources.back().id);
  std::string out = style.palette.paint(Role::kName, std::to_string(report.sources.size()) + " checkpoints") +
                    ", their parameters alone: " + (step ? "step " + *step + ", " : "") +
                    format_counted(report.tensors, "tensor", "tensors") + ", " +
                    format_bytes(report.bytes, style.exact_bytes) + "\n\n" + sources_table(report, style);
  if (report.nearest) out += decay(report, style, width);
  if (report.dry_run) return out + "\nnothing written: --dry-run\n";
  return out + "\n" + style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.id.hex() +
         "\n";
}

}  // namespace titan::cli
