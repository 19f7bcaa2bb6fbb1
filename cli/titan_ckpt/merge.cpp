#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/merge.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/curve.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/foreign_view.h"

namespace titan::cli {
namespace {

using ckpt::MergeReport;
using ckpt::PhaseKind;
using ckpt::Result;

/// "linear", "1-sqrt" or "cosine": a decay as --weights calls it.
const char* decay_name(PhaseKind kind) {
  return kind == PhaseKind::kSqrt ? "1-sqrt" : kind == PhaseKind::kCosine ? "cosine" : "linear";
}

constexpr PhaseKind kDecays[] = {PhaseKind::kLinear, PhaseKind::kSqrt, PhaseKind::kCosine};

Result<ckpt::MergeWeights> read_weights(const Command& command) {
  ckpt::MergeWeights weights;
  const std::optional<std::string> text = command.value("weights");
  if (text && command.has("ema"))
    return ckpt::invalid("`--weights` and `--ema` exclude each other").with_hint("leave one of them out");
  TITAN_RETURN_IF_ERROR(read_flag(command, "ema", "a number between 0 and 1, as 0.9",
                                  number_that<double>([](double beta) { return beta > 0 && beta < 1; }), weights.ema));
  if (!text || *text == "mean") return weights;
  for (const PhaseKind kind : kDecays) {
    if (*text != decay_name(kind)) continue;
    weights.decay = kind;
    return weights;
  }
  for (const std::string& word : ckpt::split(*text, ',')) {
    const std::optional<double> weight = ckpt::number_of<double>(word);
    if (!weight || !std::isfinite(*weight))
      return wrong_value("weights", *text, "mean, linear, 1-sqrt, cosine, or numbers as 1,2,1");
    weights.given.push_back(*weight);
  }
  return weights;
}

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

/// The curve that the weights correspond to, drawn, and what was written.
std::string merge_text(const MergeReport& report, const TextStyle& style, std::size_t width) {
  const std::optional<std::string> step = source_step(report.step, report.sources.back().id);
  std::string out = style.palette.paint(Role::kName, std::to_string(report.sources.size()) + " checkpoints") +
                    ", their parameters alone: " + (step ? "step " + *step + ", " : "") +
                    ckpt::counted(report.tensors, "tensor") + ", " + format_bytes(report.bytes, style.exact_bytes) +
                    "\n\n" + sources_table(report, style);
  if (report.nearest) out += decay(report, style, width);
  if (report.dry_run) return out + "\nnothing written: --dry-run\n";
  return out + "\n" + style.palette.paint(Role::kOk, "wrote") + " " + escape(report.dst) + "  id " + report.id.hex() +
         "\n";
}

std::string merge_json(const ckpt::MergeReport& report) {
  JsonOut json("titan.merge/1");
  json.path("destination", report.dst);
  json.members("written", !report.dry_run, "step", report.step);
  digest_json(json, "id", report.id);
  json.each("sources", report.sources, [&](const ckpt::MergeSource& source) {
    json.path("path", source.path);
    source_step_json(json, source.step, source.id);
    digest_json(json, "id", source.id);
    json.real("weight", source.weight);
  });
  if (report.nearest) {
    json.begin_object("decay");
    json.members("nearest", decay_name(report.nearest->kind), "gap", report.nearest->gap);
    json.begin_array("intervals");
    for (std::size_t i = 0; i < report.factors.size(); ++i) {
      json.begin_object();
      json.members("first", report.sources[i].step + 1, "last", report.sources[i + 1].step, "factor",
                   report.factors[i]);
      json.end_object();
    }
    json.end_array();
    if (report.after.empty())
      json.null("phases");
    else
      lr_phases_json(json, report.after);
    json.end_object();
  } else {
    json.null("decay");
  }
  json.members("tensors", report.tensors, "bytes", report.bytes, "carried", report.carried, "notes", report.notes,
               "warnings", report.warnings);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_merge(const Request& request) {
  const Command& command = request.command;
  ckpt::MergeOptions options;
  options.sources = command.positionals;
  const std::optional<std::string> dst = command.value("output");
  if (!dst)
    return ckpt::invalid("`merge` needs `-o DST`, the checkpoint to be made")
        .with_hint("`titan-ckpt merge --help` shows its arguments");
  options.dst = *dst;
  TITAN_ASSIGN_OR_RETURN(options.weights, read_weights(command));
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  options.force = command.has("force");
  options.dry_run = command.has("dry-run");
  options.writer = version_line("titan-ckpt") + " merge";
  options.created = format_utc(std::time(nullptr));
  options.open = convert::open_any;
  options.resolve = convert::resolve_any;
  const Work work(request, options, "merge");
  TITAN_ASSIGN_OR_RETURN(const ckpt::MergeReport report, ckpt::merge_checkpoints(request.fs, options));
  Answer answer;
  answer.text = request.json ? merge_json(report) : merge_text(report, request.style, terminal_width());
  answer.notes = report.notes;
  answer.notes.insert(answer.notes.end(), report.warnings.begin(), report.warnings.end());
  return answer;
}

}  // namespace titan::cli
