#include "cli/titan_ckpt/merge.h"

#include <cmath>
#include <ctime>

#include "ckpt/base/text.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/units.h"
#include "cli/kit/version.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/view.h"

namespace titan::cli {
namespace {

using ckpt::PhaseKind;
using ckpt::Result;

constexpr PhaseKind kDecays[] = {PhaseKind::kLinear, PhaseKind::kSqrt, PhaseKind::kCosine};

Result<ckpt::MergeWeights> read_weights(const Command& command) {
  ckpt::MergeWeights weights;
  const std::optional<std::string> text = command.value("weights"), ema = command.value("ema");
  if (text && ema)
    return ckpt::invalid("`--weights` and `--ema` exclude each other").with_hint("leave one of them out");
  if (ema) {
    weights.ema = ckpt::number_of<double>(*ema);
    if (!weights.ema || !(*weights.ema > 0 && *weights.ema < 1))
      return wrong_value("ema", *ema, "a number between 0 and 1, as 0.9");
  }
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

}  // namespace

const char* decay_name(PhaseKind kind) {
  return kind == PhaseKind::kSqrt ? "1-sqrt" : kind == PhaseKind::kCosine ? "cosine" : "linear";
}

Answer run_merge(const Request& request) {
  const Command& command = request.command;
  ckpt::MergeOptions options;
  options.sources = command.positionals;
  const std::optional<std::string> dst = command.value("output");
  if (!dst)
    return {.error = ckpt::invalid("`merge` needs `-o DST`, the checkpoint to be made")
                         .with_hint("`titan-ckpt merge --help` shows its arguments")};
  options.dst = *dst;
  TITAN_ASSIGN_OR_ANSWER(options.weights, read_weights(command));
  TITAN_ASSIGN_OR_ANSWER(options.threads, thread_count(command));
  options.force = command.has("force");
  options.dry_run = command.has("dry-run");
  options.writer = version_line("titan-ckpt") + " merge";
  options.created = format_utc(std::time(nullptr));
  options.open = convert::open_any;
  options.resolve = convert::resolve_any;
  const Work work(request, options, "merge");
  const Result<ckpt::MergeReport> report = ckpt::merge_checkpoints(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  Answer answer;
  answer.text = request.json ? merge_json(*report) : merge_text(*report, request.style, terminal_width());
  answer.notes = report->notes;
  answer.notes.insert(answer.notes.end(), report->warnings.begin(), report->warnings.end());
  return answer;
}

}  // namespace titan::cli
