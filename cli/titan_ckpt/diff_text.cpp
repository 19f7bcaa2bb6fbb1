#include "cli/titan_ckpt/diff.h"

#include <algorithm>
#include <cstdio>

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::Difference;
using ckpt::DiffReport;
using ckpt::DiffSide;

/// Shares as people read them: never "0%" or "100%" for what is not.
std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == whole) return "100%";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.01) return "<0.01%";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", std::min(share, 99.99));
  return text;
}

std::string side(const char* name, const DiffSide& s, const Palette& palette) {
  return std::string(name) + "  " + escape(s.path) + "  step " + std::to_string(s.step) + "  " +
         palette.paint(Role::kDim, digest_text(s.id)) + "\n";
}

std::string tensor_table(const std::vector<Difference>& differences, bool stats, const TextStyle& style) {
  std::vector<Column> columns{{"tensor"}, {"max abs", Align::kRight}, {"max rel", Align::kRight}};
  if (stats) columns.insert(columns.end(), {{"mean abs", Align::kRight}, {"rms", Align::kRight}});
  columns.insert(columns.end(), {{"differ", Align::kRight}, {"first at", Align::kRight}, {"a"}, {"b"}, {}});
  Table table(columns);
  for (const Difference& d : differences) {
    if (!d.distance) continue;
    const ckpt::TensorDistance& t = *d.distance;
    const auto measure = [&](double value) { return t.measured() ? format_rounded(value) : "n/a"; };
    std::vector<Cell> cells{escape(d.name), measure(t.max_abs), measure(t.max_rel)};
    if (stats) cells.insert(cells.end(), {measure(t.mean_abs()), measure(t.rms())});
    cells.insert(cells.end(),
                 {percent(t.different, t.elements), format_count(t.first_index), t.first_a, t.first_b,
                  t.non_finite == 0 ? Cell("") : Cell(format_count(t.non_finite) + " not finite", Role::kWarning)});
    table.row(std::move(cells));
  }
  return table.empty() ? "" : table.render(style.palette, "  ");
}

std::string field_lines(const std::vector<Difference>& fields) {
  std::string out;
  for (const Difference& d : fields) {
    if (d.distance) continue;
    const std::string name = d.kind == d.name ? d.kind : d.kind + " " + d.name;
    out += "  " + escape(name) + ": " + escape(d.a) + " | " + escape(d.b) + "\n";
  }
  return out;
}

std::string scope_text(const ckpt::DiffScope& scope) {
  std::string text = scope.tolerance ? " within rtol " + format_real(scope.tolerance->rtol) + ", atol " +
                                           format_real(scope.tolerance->atol)
                                     : "";
  if (!scope.only.empty()) text += (text.empty() ? " in `" : "; only `") + escape(scope.only) + "`";
  return text;
}

std::string tensors_text(std::uint64_t count, const char* what) {
  return format_count(count) + (count == 1 ? " tensor " : " tensors ") + what;
}

/// The verdict when the ids are equal, or when the parts that were asked about are.
std::string verdict(const DiffReport& report, const Palette& palette) {
  const std::string scope = scope_text(report.scope);
  const std::string word =
      report.equal() ? palette.paint(Role::kOk, "equal") : palette.paint(Role::kError, "equal state, different notes");
  if (report.foreign && report.state_equal)
    return word + "  " + tensors_text(report.equal_tensors, "that both have") + ", by their bytes\n";
  if (report.state_equal)
    return word + "  id " + report.a.id.hex() + ", " + format_count(report.equal_tensors) + " tensors" +
           (report.scope.only.empty() ? "" : scope) + "\n";
  return word + scope + "\n";
}

}  // namespace

std::string diff_text(const DiffReport& report, bool stats, const TextStyle& style) {
  const Palette& palette = style.palette;
  const bool judged_equal =
      report.state_equal || (report.differences.empty() && (report.scope.tolerance || !report.scope.only.empty()));
  std::string out = judged_equal ? verdict(report, palette)
                                 : palette.paint(Role::kError, "different") + scope_text(report.scope) + "\n";
  if (!report.state_equal) {
    out += side("  a", report.a, palette) + side("  b", report.b, palette);
    out += field_lines(report.differences) + tensor_table(report.differences, stats, style);
    if (!report.within.empty()) out += "  within the tolerance\n" + tensor_table(report.within, stats, style);
    const auto differing = std::count_if(report.differences.begin(), report.differences.end(),
                                         [](const Difference& d) { return d.kind == "tensor"; });
    out += "  " + tensors_text(report.equal_tensors, "equal");
    if (report.scope.tolerance) out += ", " + format_count(report.within.size()) + " within the tolerance";
    out += ", " + format_count(static_cast<std::uint64_t>(differing)) + " different\n";
  }
  if (!report.notes.empty()) {
    const std::string title = report.notes_count ? "notes, counted as differences (--config)" : "notes";
    out += palette.paint(Role::kWarning, title) + "\n" + field_lines(report.notes);
  }
  if (!report.not_compared.empty())
    out += palette.paint(Role::kWarning, "not compared") + "  " + escape(ckpt::left_out_text(report.not_compared)) +
           " (no place in a checkpoint of ours)\n";
  return out;
}

}  // namespace titan::cli
