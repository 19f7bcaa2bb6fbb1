#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::Difference;
using ckpt::DiffReport;
using ckpt::DiffSide;

// Number of configuration keys shown. Compared with a checkpoint of another program, all of Titan's keys differ.
constexpr std::size_t kFewNotes = 8;

/// part / whole in percent, rounded. "<0.01%" and "99.99%" instead of a rounded "0%" or "100%".
std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == whole) return "100%";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.01) return "<0.01%";
  return ckpt::printed("%.2f%%", std::min(share, 99.99));
}

std::string side(const char* name, const DiffSide& s, const Palette& palette) {
  const std::string line = std::string(name) + "  " + escape(s.path) + "  step " + std::to_string(s.step) + "  ";
  const std::string id = digest_text(s.id);
  const bool folds = palette.width > 0 && display_width(line) + id.size() > palette.width;
  return (folds ? line.substr(0, line.size() - 2) + "\n     " : line) + palette.paint(Role::kDim, id) + "\n";
}

/// "n/a" if no finite values differ, or if the number is meaningless.
std::string measure(const ckpt::TensorDistance& t, double value) {
  return t.measured() && !std::isnan(value) ? format_rounded(value, 3) : "n/a";
}

std::string cosine(const ckpt::TensorDistance& t) {
  if (!t.measured() || std::isnan(t.cosine())) return "n/a";
  return ckpt::printed("%.4f", t.cosine());
}

/// The value by which differences are sorted, largest first. Tensors with NaN or infinity come first, since users look
/// for them.
double rank(const Difference& d, DiffOrder order) {
  const ckpt::TensorDistance& t = *d.distance;
  const double value = order == DiffOrder::kNorm ? t.norm() : t.change();
  return t.non_finite > 0 || std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

std::string tensor_table(const std::vector<Difference>& differences, const DiffView& view, const TextStyle& style) {
  std::vector<const Difference*> rows;
  std::size_t moments = 0;
  const bool models =
      std::ranges::any_of(differences, [](const Difference& d) { return d.distance && d.component == "model"; });
  for (const Difference& d : differences) {
    if (!d.distance) continue;
    const bool of_moments = models && !view.moments && d.component != "model";
    moments += of_moments ? 1 : 0;
    if (!of_moments) rows.push_back(&d);
  }
  std::ranges::stable_sort(rows, [&](const Difference* x, const Difference* y) {
    return view.order == DiffOrder::kName ? x->name < y->name : rank(*x, view.order) > rank(*y, view.order);
  });
  std::vector<Column> columns{{"tensor"},
                              {"change", Align::kRight},
                              {"cosine", Align::kRight},
                              {"|a - b|", Align::kRight},
                              {"max abs", Align::kRight}};
  if (view.stats)
    columns.insert(columns.end(), {{"max rel", Align::kRight},
                                   {"mean abs", Align::kRight},
                                   {"rms", Align::kRight},
                                   {"first at", Align::kRight},
                                   {"a"},
                                   {"b"}});
  columns.insert(columns.end(), {{"differ", Align::kRight}, {}});
  Table table(columns);
  for (std::size_t i = 0; i < std::min(rows.size(), view.top); ++i) {
    const ckpt::TensorDistance& t = *rows[i]->distance;
    std::vector<Cell> cells{escape(rows[i]->name), measure(t, t.change()), cosine(t), measure(t, t.norm()),
                            measure(t, t.max_abs)};
    if (view.stats)
      cells.insert(cells.end(), {measure(t, t.max_rel), measure(t, t.mean_abs()), measure(t, t.rms()),
                                 format_count(t.first_index), t.first_a, t.first_b});
    cells.insert(cells.end(),
                 {percent(t.different, t.elements),
                  t.non_finite == 0 ? Cell("") : Cell(format_count(t.non_finite) + " not finite", Role::kWarning)});
    table.row(std::move(cells));
  }
  std::string out = table.empty() ? "" : table.render(style.palette, "  ");
  std::string more;
  if (rows.size() > view.top) more = "and " + format_count(rows.size() - view.top) + " more (--top all)";
  if (moments > 0)
    more += (more.empty() ? "and " : ", ") + format_count(moments) +
            (moments == 1 ? " tensor of the optimizer" : " tensors of the optimizer") + " (--moments)";
  return more.empty() ? out : out + "  " + more + "\n";
}

std::string component_table(const std::vector<ckpt::ComponentDistance>& components, const TextStyle& style) {
  Table table({{"component"},
               {"tensors", Align::kRight},
               {"differ", Align::kRight},
               {"change", Align::kRight},
               {"cosine", Align::kRight},
               {"|a - b|", Align::kRight},
               {"max abs", Align::kRight}});
  if (std::ranges::none_of(components, [](const ckpt::ComponentDistance& c) { return c.different > 0; })) return "";
  for (const ckpt::ComponentDistance& c : components)
    table.row({escape(c.name), format_count(c.tensors), format_count(c.different),
               measure(c.distance, c.distance.change()), cosine(c.distance), measure(c.distance, c.distance.norm()),
               measure(c.distance, c.distance.max_abs)});
  return table.empty() ? "" : table.render(style.palette, "  ");
}

/// A line per difference that is not in values. Of the kinds "config" and "tensor" only the first `most` are listed;
/// the others are counted, and `flag` is named as the way to see them.
std::string field_lines(const std::vector<Difference>& fields, std::size_t most, const std::string& flag,
                        const Palette& palette) {
  std::string out;
  std::map<std::string, std::size_t> seen;
  for (const Difference& d : fields) {
    if (d.distance) continue;
    const bool many = d.kind == "config" || d.kind == "tensor";
    if (++seen[d.kind] > most && many) continue;
    const std::string name = d.kind == d.name ? d.kind : d.kind + " " + d.name;
    out += folded_line("  " + escape(name) + ": " + escape(d.a) + " | " + escape(d.b), palette, 6) + "\n";
  }
  for (const auto& [kind, count] : seen)
    if (count > most && (kind == "config" || kind == "tensor"))
      out += "  and " + format_count(count - most) + " more of " + kind + " (" + flag + ")\n";
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

/// The last line if nothing that was compared differs: "equal", or why that is not the whole answer.
std::string verdict(const DiffReport& report, const Palette& palette) {
  const std::string scope = scope_text(report.scope);
  const bool noted = report.notes_count && !report.notes.empty();
  const std::string word = report.equal() ? palette.paint(Role::kOk, "equal")
                           : noted        ? palette.paint(Role::kError, "equal state, different notes")
                                          : palette.paint(Role::kError, "not all compared, the rest equal");
  if (report.foreign && report.state_equal)
    return word + "  " + tensors_text(report.equal_tensors, "that both have") + ", by their bytes\n";
  if (report.state_equal)
    return word + "  id " + report.a.id.hex() + ", " + format_count(report.equal_tensors) + " tensors" +
           (report.scope.only.empty() ? "" : scope) + "\n";
  return word + scope + "\n";
}

}  // namespace

std::string diff_text(const DiffReport& report, const DiffView& view, const TextStyle& style) {
  const Palette& palette = style.palette;
  const bool judged_equal =
      report.state_equal || (report.differences.empty() && (report.scope.tolerance || !report.scope.only.empty()));
  std::string out = judged_equal ? verdict(report, palette)
                                 : palette.paint(Role::kError, "different") + scope_text(report.scope) + "\n";
  if (!report.state_equal) {
    out += side("  a", report.a, palette) + side("  b", report.b, palette);
    out += field_lines(report.differences, view.top, "--top all", palette) + component_table(report.components, style) +
           tensor_table(report.differences, view, style);
    if (!report.within.empty()) out += "  within the tolerance\n" + tensor_table(report.within, view, style);
    const auto differing = std::ranges::count(report.differences, "tensor", &Difference::kind);
    out += "  " + tensors_text(report.equal_tensors, "equal");
    if (report.scope.tolerance) out += ", " + format_count(report.within.size()) + " within the tolerance";
    out += ", " + format_count(static_cast<std::uint64_t>(differing)) + " different\n";
  }
  if (!report.notes.empty()) {
    const std::string title = report.notes_count ? "notes, counted as differences (--config)" : "notes";
    out +=
        palette.paint(Role::kWarning, title) + "\n" +
        field_lines(report.notes, report.notes_count ? report.notes.size() : kFewNotes, "--config lists them", palette);
  }
  if (!report.not_compared.empty())
    out += palette.paint(Role::kWarning, "not compared") + "  " + escape(ckpt::left_out_text(report.not_compared)) +
           " (Titan has no tensors for them; --only '*' leaves them out of the verdict)\n";
  return out;
}

}  // namespace titan::cli
