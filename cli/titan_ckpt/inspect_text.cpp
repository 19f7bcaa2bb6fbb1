#include "cli/titan_ckpt/inspect.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "ckpt/model/history.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/mixture.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::InspectReport;
using ckpt::Manifest;
using ckpt::TensorRow;

constexpr std::size_t kTopTensors = 8;

/// "step 40, "; empty if files of the format do not record the step.
std::string step_and(std::uint64_t step, const ckpt::Digest& id) {
  const std::optional<std::string> known = source_step(step, id);
  return known ? "step " + *known + ", " : "";
}

std::string derived_text(const ckpt::DerivedFrom& from) {
  const bool titan = from.id != ckpt::Digest{};
  const std::optional<std::string> step = source_step(from.step, from.id);
  return (step ? " step " + *step : "") + (titan ? ", id " + from.id.hex() : "");
}

// The first sources of a weighted sum: there may be hundreds.
void add_merged(const std::vector<ckpt::MergedSource>& sources, Facts& facts) {
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(sources.size(), kShown); ++i)
    facts.add("merged", format_rounded(sources[i].weight, 6) + " x " + step_and(sources[i].step, sources[i].id) +
                            escape(sources[i].path));
  if (sources.size() > kShown) facts.add("merged", std::to_string(sources.size() - kShown) + " more; --json has all");
}

std::string summary(const InspectReport& report, const TextStyle& style) {
  const Manifest& m = report.manifest;
  Facts facts;
  facts.add("checkpoint", escape(report.path));
  if (!report.foreign) facts.add("id", m.id.hex());
  if (!report.foreign || m.step > 0) facts.add("step", std::to_string(m.step));
  if (report.train) facts.add("tokens", format_count(report.train->tokens));
  if (report.foreign) {
    facts.add("format", escape(m.writer));
    if (!report.left_out.empty())
      facts.add("left out", escape(ckpt::left_out_text(report.left_out)) + " (Titan has no tensors for them)");
    return facts.render(style.palette);
  }
  facts.add("format", "titan " + std::to_string(m.major) + "." + std::to_string(m.minor));
  facts.add("created", escape(m.created));
  facts.add("writer", escape(m.writer));
  facts.add("mesh", mesh_text(m.mesh) + " (DP x PP" + (m.mesh.tp > 1 ? " x TP)" : ")"));
  facts.add("leaf", format_count(m.leaf_elements) + " elements");
  if (m.derived_from) facts.add("derived from", escape(m.derived_from->path) + derived_text(*m.derived_from));
  if (m.derived_from) add_merged(m.derived_from->merged, facts);
  return facts.render(style.palette);
}

std::string components(const InspectReport& report, const TextStyle& style) {
  const Manifest& m = report.manifest;
  if (report.foreign) {
    Table sizes({{"component"}, {"size", Align::kRight}});
    for (const ckpt::ComponentEntry& c : m.components)
      sizes.row({escape(c.name), format_bytes(c.bytes, style.exact_bytes)});
    return heading(style.palette, "components") + sizes.render(style.palette, "  ");
  }
  Table table(
      {{"component"}, {"size", Align::kRight}, {"stored", Align::kRight}, {"files", Align::kRight}, {"digest"}});
  for (const ckpt::ComponentEntry& c : m.components)
    table.row({escape(c.name),
               format_bytes(c.bytes, style.exact_bytes),
               format_bytes(c.stored_bytes, style.exact_bytes),
               std::to_string(c.files),
               {digest_text(c.digest), Role::kDim}});
  return heading(style.palette, "components") + table.render(style.palette, "  ");
}

std::string stages(const Manifest& m, const TextStyle& style) {
  Table table({{"stage", Align::kRight}, {"tensors", Align::kRight}, {"parameters", Align::kRight}, {"from"}, {"to"}});
  std::uint64_t tensors = 0, elements = 0;
  const std::vector<ckpt::StageSummary> all = ckpt::stage_summaries(m);
  for (std::size_t i = 0; i < all.size(); ++i) {
    table.row({std::to_string(i), std::to_string(all[i].parameters), format_count(all[i].elements),
               escape(all[i].first), escape(all[i].last)});
    tensors += all[i].parameters;
    elements += all[i].elements;
  }
  table.row({"total", std::to_string(tensors), format_count(elements)});
  return heading(style.palette, "stages") + table.render(style.palette, "  ");
}

std::string phase_line(const ckpt::LrPhase& phase) {
  std::string text = "from step " + std::to_string(phase.first) + ": " + ckpt::phase_kind_name(phase.kind) + " ";
  if (phase.kind == ckpt::PhaseKind::kConstant) return text + format_rounded(phase.start);
  const std::string whole = format_rounded(phase.start) + " -> " + format_rounded(phase.end) + " over " +
                            format_rounded(phase.length, 9) + " steps";
  // Steps before the first one belong to another phase: what is left of it says more.
  const double before = static_cast<double>(phase.first) - phase.origin;
  if (before <= 1) return text + whole;
  return text + format_rounded(ckpt::lr_at({phase}, phase.first)) + " -> " + format_rounded(phase.end) +
         " until step " + format_rounded(std::floor(phase.origin + phase.length), 12) + " (of " + whole + ")";
}

std::string schedule(const InspectReport& report, const TextStyle& style) {
  std::string out = heading(style.palette, "LR schedule");
  if (!report.lr) return report.foreign ? "" : out + "  absent\n";
  const std::vector<ckpt::LrPhase>& phases = report.lr->phases;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    // A phase that the next one replaces from its first step on never applies.
    const bool applies = i + 1 == phases.size() || phases[i + 1].first > phases[i].first;
    if (applies) out += "  " + phase_line(phases[i]) + "\n";
  }
  const std::uint64_t next = report.manifest.step + 1;
  if (!phases.empty())
    out += "  next step " + std::to_string(next) + ": " + format_rounded(ckpt::lr_at(phases, next)) +
           "; the curve ends at step " + std::to_string(ckpt::curve_end(phases)) + "\n";
  return out;
}

/// The sets of a mixture, with how much of each was read.
std::string sets(const ckpt::DataPosition& d, const TextStyle& style) {
  const std::vector<std::uint64_t> drawn = ckpt::Mixture(d).drawn(d.samples);
  const std::vector<std::string> names = ckpt::set_names(d.sets);
  std::string out;
  for (std::size_t i = 0; i < d.sets.size(); ++i) {
    ckpt::MixedSet set = d.sets[i];
    set.name = names[i];
    std::string line = "  set " + escape(ckpt::mixture_text(std::span(&set, 1))) + ": " +
                       format_count(drawn[i] - set.uncounted) + " samples drawn, " +
                       format_rounded(ckpt::passes_of(set, drawn[i]), 4) + " epochs";
    if (set.most != 0)
      line += " of " + std::to_string(ckpt::epochs_of(set)) + (set.stops ? ", then the data end" : ", then dropped");
    out += folded_line(line, style.palette, 4) + "\n";
  }
  return out;
}

std::string data(const InspectReport& report, const TextStyle& style) {
  std::string out = heading(style.palette, "data position");
  if (!report.data) return report.foreign ? "" : out + "  absent\n";
  const ckpt::DataPosition& d = *report.data;
  out += "  " + format_count(d.samples) + " samples consumed";
  if (d.samples_per_epoch > 0 && d.samples >= d.epoch_base) {
    const std::uint64_t since = d.samples - d.epoch_base;
    out += "; epoch " + std::to_string(d.first_epoch + since / d.samples_per_epoch) + ", sample " +
           format_count(since % d.samples_per_epoch) + " of " + format_count(d.samples_per_epoch);
  }
  const std::string how = "  " + escape(d.kind) + ", tokenizer " + escape(d.tokenizer) + ", seq_len " +
                          std::to_string(d.seq_len) + ", stride " + std::to_string(d.sample_stride) + ", " +
                          (d.shuffle ? "shuffled, seed " + std::to_string(d.seed) : "in order");
  out += "\n" + folded_line(how, style.palette, 4) + "\n";
  if (!d.excluded.empty()) out += "  left out: samples " + ckpt::ranges_text(d.excluded) + "\n";
  if (!d.sets.empty()) out += sets(d, style);
  for (const ckpt::DataFile& file : d.files)
    out += "  " + escape(file.name) + "  " + format_bytes(file.bytes, style.exact_bytes) + "\n";
  return out;
}

std::string attempts(const InspectReport& report, const TextStyle& style) {
  if (!report.train) return report.foreign ? "" : heading(style.palette, "attempts") + "  absent\n";
  if (report.train->attempts.empty()) return heading(style.palette, "attempts") + "  none\n";
  Table table({{"attempt", Align::kRight},
               {"started"},
               {"steps"},
               {"mesh"},
               {"schedule"},
               {.title = "version", .spare = true},
               {}});
  for (const ckpt::Attempt& a : report.train->attempts)
    table.row({std::to_string(a.number), escape(a.started),
               std::to_string(a.first_step) + "-" + std::to_string(a.last_step),
               std::to_string(a.dp) + "x" + std::to_string(a.pp), escape(a.schedule), escape(a.version),
               a.policy.empty() ? "" : "LR policy " + escape(a.policy)});
  std::string out = heading(style.palette, "attempts") + table.render(style.palette, "  ");
  if (const std::string gone = ckpt::attempts_gone(report.train->attempts); !gone.empty()) out += "  " + gone + "\n";
  for (const ckpt::Attempt& a : report.train->attempts) {
    const std::string who = "  attempt " + std::to_string(a.number) + ": ";
    for (const std::string& change : a.changed) out += who + "changed " + escape(change) + "\n";
    for (const std::string& note : a.notes) out += who + escape(note) + "\n";
  }
  return out;
}

/// "-" for values that are unknown without a finite element.
std::string finite_or_dash(const ckpt::TensorStats& s, double value) {
  return s.finite() == 0 ? "-" : format_rounded(value);
}

/// Indexes of `rows` in display order; non-finite values come before large ones.
std::vector<std::size_t> in_order(const std::vector<TensorRow>& rows, const InspectView& view) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](std::size_t i) {
    const ckpt::TensorStats& s = (*view.stats)[i];
    if (s.non_finite() > 0) return std::numeric_limits<double>::infinity();
    return view.order == StatsOrder::kNorm ? s.norm() : std::max(std::fabs(s.min), std::fabs(s.max));
  };
  if (view.order == StatsOrder::kName)
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rows[i].name; });
  else if (view.order != StatsOrder::kStored)
    std::ranges::stable_sort(order, std::greater<>(), size);
  return order;
}

std::string statistics(const InspectReport& report, const InspectView& view, const TextStyle& style) {
  const std::vector<TensorRow> rows = ckpt::matching_rows(ckpt::tensor_rows(report.manifest), *view.tensors);
  Table table({{"tensor"},
               {.title = "dtype", .spare = true},
               {.title = "elements", .align = Align::kRight, .spare = true},
               {"min", Align::kRight},
               {"max", Align::kRight},
               {"mean", Align::kRight},
               {"std", Align::kRight},
               {"norm", Align::kRight},
               {.title = "zeros", .align = Align::kRight, .spare = true},
               {"not finite", Align::kRight}});
  ckpt::TensorStats all;
  const std::vector<std::size_t> order = in_order(rows, view);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t i = order[place];
    const ckpt::TensorStats& s = (*view.stats)[i];
    all.elements += s.elements;
    all.zeros += s.zeros;
    all.nans += s.non_finite();
    if (place >= view.top) continue;
    table.row({escape(rows[i].name),
               std::string(ckpt::dtype_name(rows[i].dtype)),
               format_count(s.elements),
               finite_or_dash(s, s.min),
               finite_or_dash(s, s.max),
               finite_or_dash(s, s.mean),
               finite_or_dash(s, s.std()),
               format_rounded(s.norm()),
               format_count(s.zeros),
               {format_count(s.non_finite()), s.non_finite() == 0 ? Role::kPlain : Role::kError}});
  }
  table.row({"total", std::to_string(rows.size()), format_count(all.elements), "", "", "", "", "",
             format_count(all.zeros), format_count(all.nans)});
  const std::string more =
      order.size() > view.top ? "  and " + format_count(order.size() - view.top) + " more (--top all)\n" : "";
  return heading(style.palette, "statistics") + table.render(style.palette, "  ") + more;
}

std::string tensors(const InspectReport& report, const InspectView& view, const TextStyle& style) {
  const std::vector<TensorRow> rows = view.tensors
                                          ? ckpt::matching_rows(ckpt::tensor_rows(report.manifest), *view.tensors)
                                          : ckpt::tensor_rows(report.manifest, kTopTensors);
  const std::size_t all = ckpt::tensor_count(report.manifest), shown = rows.size();
  std::vector<Column> columns{{"tensor"}, {"dtype"}, {"shape"}, {"size", Align::kRight}};
  if (!report.foreign)
    columns.insert(columns.end(),
                   {{"leaves", Align::kRight}, {"stage", Align::kRight}, {.title = "digest", .spare = true}});
  Table table(columns);
  for (std::size_t i = 0; i < shown; ++i) {
    const TensorRow& row = rows[i];
    std::vector<Cell> cells{escape(row.name), std::string(ckpt::dtype_name(row.dtype)), shape_text(row.shape),
                            format_bytes(row.bytes, style.exact_bytes)};
    if (!report.foreign)
      cells.insert(
          cells.end(),
          {std::to_string(row.leaves), std::to_string(row.stage), {digest_text(row.digest).substr(0, 12), Role::kDim}});
    table.row(cells);
  }
  std::string out = heading(style.palette, "tensors");
  if (!table.empty()) out += table.render(style.palette, "  ");
  if (view.tensors) return out + "  " + std::to_string(shown) + " of " + std::to_string(all) + "\n";
  if (shown < all) out += "  and " + std::to_string(all - shown) + " more; --tensors '*' lists them\n";
  return out;
}

std::string config(const Manifest& m, const TextStyle& style) {
  std::string out = heading(style.palette, "configuration");
  for (const auto& [key, value] : m.config) out += "  " + escape(key) + " = " + escape(value) + "\n";
  return out;
}

}  // namespace

std::string inspect_text(const InspectReport& report, const InspectView& view, const TextStyle& style) {
  if (view.stats)
    return summary(report, style) + (view.config ? config(report.manifest, style) : "") +
           statistics(report, view, style);
  std::string out = summary(report, style) + components(report, style) + stages(report.manifest, style) +
                    schedule(report, style) + data(report, style) + attempts(report, style);
  if (view.config) out += config(report.manifest, style);
  return out + tensors(report, view, style);
}

}  // namespace titan::cli
