// `plan` as text. The JSON side is plan_json.cpp.
#include "ckpt/base/printed.h"
#include "cli/titan_train/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "ckpt/base/text.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/titan_train/plan_drawing.h"
#include "libtrain/job/run/banner.h"
#include "recipe/change/change_lines.h"
#include "recipe/history/save_interval.h"
#include "recipe/model/family.h"

namespace titan::cli {
namespace {

using train::Forecast;

constexpr std::size_t kDrawingWidth = 80;  // in a pipe

std::string number(std::int64_t value) { return std::to_string(value); }
std::string model_text(const recipe::RunPlan& plan) {
  const recipe::ModelDims& d = plan.dims;
  std::string text = "dim " + number(d.dim) + ", " + ckpt::counted(static_cast<std::uint64_t>(d.n_layers), "layer") +
                     ", " + number(d.n_heads) + " heads";
  if (d.n_kv_heads != d.n_heads) text += " (" + number(d.n_kv_heads) + " for keys and values)";
  text += " of " + number(d.head_dim) + ", feed-forward " + number(d.ffn_dim) + ", vocabulary " + number(d.vocab_size);
  if (d.tied) text += ", tied";
  if (d.qkv_bias) text += ", biased q k v";
  if (d.qk_norm) text += d.whole_qk_norm ? ", normed q k (whole)" : ", normed q k";
  if (d.post_norm) text += ", norms after the blocks";
  if (d.experts) text += ", " + number(d.n_experts) + " experts (" + number(d.experts_per_token) + " a token)";
  if (d.window.tokens != 0)
    text += ", window " + number(d.window.tokens) +
            (d.window.layers.empty() ? "" : " in layers " + recipe::layers_text(d.window));
  if (d.rope_scaling) text += ", RoPE " + recipe::rope_scaling_text(*d.rope_scaling);
  return text;
}

std::string start_text(const PlanReport& report) {
  if (!report.start) return "refused (see the error below); the rest shows a fresh start";
  const train::StartDecision& decision = report.start->decision;
  switch (decision.mode) {
    case train::StartMode::kFresh:
    case train::StartMode::kTransfer: return escape(decision.reason);
    case train::StartMode::kResume: break;
  }
  std::string text = "resume at step " + std::to_string(decision.step) + " from " + escape(decision.path) + ": " +
                     escape(decision.reason);
  const recipe::StoredRun* stored = report.stored();
  if (stored && !stored->state.attempts.empty()) {
    const ckpt::Attempt& last = stored->state.attempts.back();
    text += "; saved on " + std::to_string(last.dp) + "x" + std::to_string(last.pp);
  }
  return text;
}

std::string steps_text(const PlanReport& report) {
  const Forecast& f = report.forecast;
  if (report.complete()) return "none: complete at training.steps = " + std::to_string(report.configured_steps);
  if (report.start && train::is_at_stop(report.start->loaded.config, report.start->decision))
    return "none: complete at debug.stop_at_step = " + std::to_string(*report.start->loaded.config.debug.stop_at_step);
  if (f.first_step > f.last_step) return "none";
  std::string text = std::to_string(f.first_step) + " to " + std::to_string(f.last_step);
  return f.last_step < report.configured_steps
             ? text + " (debug.stop_at_step; training.steps = " + std::to_string(report.configured_steps) + ")"
             : text;
}

std::string time_text(const PlanReport& report) {
  const train::SpeedGuess& speed = report.speed;
  const std::uint64_t steps = report.forecast.last_step - report.forecast.first_step + 1;
  if (speed.seconds_per_step <= 0) return "not guessed: " + escape(speed.why_none);
  return "about " + format_duration(speed.seconds_per_step * static_cast<double>(steps)) + " for " +
         ckpt::counted(steps, "step") + ": " + format_rounded(speed.seconds_per_step, 3) +
         " s a step, the median of the last " + ckpt::counted(speed.steps, "step") + " of attempt " +
         std::to_string(speed.attempt) + "; saves and validation come on top";
}

/// "4, 4, 3, 3" for at most eight ranks, else each count with the number of ranks that have it.
std::string shares_text(const std::vector<std::uint32_t>& counts) {
  if (counts.size() <= 8) return ckpt::joined(counts, ", ", number);
  std::map<std::uint32_t, std::uint64_t, std::greater<>> ranks;
  for (const std::uint32_t count : counts) ++ranks[count];
  return ckpt::joined(ranks, ", ",
                      [](const auto& of) { return number(of.first) + " on " + ckpt::counted(of.second, "rank"); });
}

std::string overview(const PlanReport& report, const Palette& palette) {
  const Forecast& f = report.forecast;
  const recipe::BatchPlan& batch = f.plan.batch;
  Facts facts;
  facts.add("config", report.config_file.empty() ? "defaults" : escape(report.config_file));
  facts.add("run folder", escape(report.run_folder));
  facts.add("start", start_text(report));
  if (report.start)
    for (const std::string& line : report.start->decision.skipped) facts.add("not taken", escape(line));
  facts.add("steps", steps_text(report));
  if (report.speed.seconds_per_step > 0 || !report.speed.why_none.empty()) facts.add("time", time_text(report));
  const std::uint64_t inactive = recipe::inactive_elements(f.plan.dims);
  facts.add("model",
            model_text(f.plan) + "; " + format_count(f.parameters) + " parameters" +
                (inactive == 0 ? "" : ", " + format_count(f.parameters - inactive) + " of them for each token"));
  if (const std::string line = report.start ? recipe::model_source_line(report.start->loaded) : ""; !line.empty())
    facts.add("model from", escape(line));
  facts.add("precision",
            f.plan.bf16 ? "bfloat16 compute; parameters, moments and gradient sums in float32" : "float32");
  facts.add("mesh", mesh_text(f.plan.mesh) + " (DP x PP): " + ckpt::counted(f.plan.mesh.world(), "rank") + ", " +
                        report.ranks_from);
  facts.add("batch", format_count(static_cast<std::uint64_t>(batch.count)) +
                         (batch.count == 1 ? " micro-batch of " : " micro-batches of ") + number(batch.micro) + " x " +
                         number(batch.seq_len) +
                         " tokens = " + ckpt::counted(static_cast<std::uint64_t>(batch.global), "sequence") +
                         " a step; per DP rank " + shares_text(f.rank_micro_batches));
  facts.add("tokens", format_count(f.tokens_per_step) + " a step; " + format_count(f.tokens_before) + " before, " +
                          format_count(f.tokens_after) + " after the last step");
  facts.add("seed", report.seed ? std::to_string(*report.seed) : "drawn at the start");
  return facts.render(palette);
}

std::string parts_text(const train::StageParts& parts, bool tied) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  if (parts.embedding) add("embedding");
  const std::int64_t layers = parts.end_layer - parts.first_layer;
  if (layers == 1) add("layer " + number(parts.first_layer));
  if (layers > 1) add("layers " + number(parts.first_layer) + "-" + number(parts.end_layer - 1));
  if (parts.head) add(tied ? "norm + tied head" : "norm + head");
  return text;
}

/// How the stages were chosen, and how balanced they are.
std::string balance(const Forecast& f) {
  if (f.plan.mesh.pp == 1) return "";
  const std::string from = f.plan.stages_from.empty() ? "cut by cost" : "as " + f.plan.stages_from + " says";
  return "  " + from + ": the rank that costs most has " + format_rounded(f.largest_over_average, 3) +
         " times the average\n";
}

std::string stages(const Forecast& f, const Palette& palette) {
  std::vector<Column> columns = {{"stage", Align::kRight},        {"holds"},
                                 {"parameters", Align::kRight},   {"cost", Align::kRight},
                                 {"in flight", Align::kRight},    {"weights", Align::kRight},
                                 {"gradients*", Align::kRight},   {"optimizer", Align::kRight},
                                 {"activations*", Align::kRight}, {"buffers*", Align::kRight},
                                 {"a rank*", Align::kRight}};
  if (f.plan.chunks > 1) columns.insert(columns.begin() + 1, {"rank", Align::kRight});
  Table table(columns);
  for (std::size_t i = 0; i < f.stages.size(); ++i) {
    const train::StageForecast& s = f.stages[i];
    std::vector<Cell> cells = {std::to_string(i), parts_text(s.parts, f.plan.dims.tied), format_count(s.parameters),
                               format_share(s.cost_share)};
    if (f.plan.chunks > 1) cells.insert(cells.begin() + 1, Cell(std::to_string(s.rank)));
    // Values of a rank are shown in the row of its first stage.
    if (i < f.plan.mesh.pp)
      for (const std::string& cell :
           {std::to_string(s.in_flight), format_bytes(s.memory.weights), format_bytes(s.memory.gradients),
            format_bytes(s.memory.optimizer), format_bytes(s.memory.activations),
            format_bytes(s.memory.exchange + s.memory.transfers + s.memory.slack), format_bytes(s.memory.total())})
        cells.push_back(cell);
    cells.resize(columns.size(), Cell(""));
    table.row(cells);
  }
  std::string text =
      heading(palette, "stages") + table.render(palette, "  ") + "  " +
      palette.paint(Role::kDim, "* estimated, at the moment that needs most; the libraries come on top") + "\n" +
      balance(f);
  for (const std::string& line : train::exchange_lines(f.plan)) text += "  " + line + "\n";
  if (const std::string cost = train::exchange_cost(f.plan); !cost.empty()) text += "  " + cost + "\n";
  const auto instead = [&](const char* exchange, std::uint64_t bytes) {
    if (bytes == 0 || bytes >= f.rank_bytes) return;
    text += std::string("  --parallelism.gradient_exchange=") + exchange + ": " + format_bytes(bytes) +
            " for the rank that needs most, instead of " + format_bytes(f.rank_bytes) + "\n";
  };
  if (f.rank_bytes_in_nodes != f.rank_bytes_in_turns) instead("node", f.rank_bytes_in_nodes);
  instead("always", f.rank_bytes_in_turns);
  return text;
}

std::string pipeline(const Forecast& f, const Palette& palette) {
  if (f.plan.mesh.pp == 1) return "";
  const auto [least, most] = std::ranges::minmax(f.schedule.peak_in_flight);
  std::string text =
      heading(palette, "pipeline") + "  " + escape(f.plan.schedule_name()) + " over " +
      ckpt::counted(f.plan.stage_count(), "stage") +
      (f.plan.chunks > 1 ? " on " + ckpt::counted(f.plan.mesh.pp, "rank") : "") + "\n" + "  bubble " +
      format_share(f.bubble.equal) + " with equal stages, " + format_share(f.bubble.with_costs) +
      " with these costs\n" + "  at most " +
      (f.plan.chunks > 1 ? ckpt::counted(most, "forward") : ckpt::counted(most, "micro-batch", "micro-batches")) +
      " of a rank in flight" + (least == most ? "" : ", " + number(least) + " of the one with fewest") + "\n" +
      draw_schedule(f.schedule, palette, palette.width == 0 ? kDrawingWidth : palette.width);
  std::string legend = "F forward, B backward";
  if (recipe::facts_of(f.plan.schedule).splits_backward) legend += " (I of inputs, W of weights)";
  if (f.plan.chunks > 1) legend += "; small: not its first stage";
  if (f.schedule.cut) legend += "; of " + ckpt::counted(f.schedule.micro_batches, "micro-batch", "micro-batches");
  return text + "  " + palette.paint(Role::kDim, legend) + "\n  " +
         palette.paint(Role::kDim, "simulated; a backward counts as two forwards, transfers as nothing") + "\n";
}

/// "code 30 %: 96 samples, 6,144 tokens, epoch 0 to 1.5, dropped after 2".
std::string set_line(const train::SetForecast& set) {
  std::string line = escape(set.name) + " " + format_rounded(100 * set.share, 4) +
                     " %: " + ckpt::counted(set.samples, "sample") + ", " + ckpt::counted(set.tokens, "token") +
                     ", epoch " + format_rounded(set.first_epoch, 4) + " to " + format_rounded(set.end_epoch, 4);
  if (set.most_epochs > 0)
    line += (set.stops ? ", the data end after " : ", dropped after ") + format_count(set.most_epochs);
  return line;
}

bool repeats(const train::DataForecast& d) {
  if (d.sets.empty()) return d.end_epoch > 1;
  return std::ranges::any_of(d.sets, [](const train::SetForecast& set) { return set.end_epoch > 1; });
}

/// Whether the data are still those of the run's start. After a change it is not known which samples were read before.
bool is_first_order(const train::StartPreview& start) { return start.data.epoch_base == 0; }

std::string data(const PlanReport& report, const Palette& palette) {
  if (report.start && !report.start->no_data.ok())
    return heading(palette, "data") + "  " + escape(report.start->no_data.message) +
           "; a run needs --training.dataset_path=FILE\n";
  const bool texts = report.start && !report.start->texts.empty();
  if (!report.data && !texts) return "";
  Facts facts;
  constexpr std::size_t kShownSets = 24;
  if (texts) {
    const std::vector<train::TextCache>& all = report.start->texts;
    for (const train::TextCache& one : std::span(all).first(std::min(all.size(), kShownSets)))
      facts.add("tokens", one.there ? "in " + escape(one.folder)
                                    : "a run makes them first, by " + escape(one.path) + ", in " + escape(one.folder));
    if (all.size() > kShownSets)
      facts.add("", "and " + ckpt::counted(all.size() - kShownSets, "folder") + " more (--json has all)");
  }
  if (!report.data && !report.start->data.sets.empty())
    facts.add("mixture", escape(ckpt::mixture_text(report.start->data.sets)) + ", of samples that are counted then");
  if (!report.data) return heading(palette, "data") + facts.render(palette, "  ");
  const train::DataForecast& d = *report.data;
  facts.add("source", escape(d.kind) + ", " + ckpt::counted(d.files, "file") + ", " + format_bytes(d.bytes));
  if (report.start) facts.add("files", escape(ckpt::file_names(report.start->data.files, 5)));
  if (const auto left_out = report.left_out(); !left_out.empty())
    facts.add("left out", escape(ckpt::first_few(left_out)));
  if (report.start && !report.start->continuation.same_data.empty())
    facts.add("note", escape(report.start->continuation.same_data.substr(6)));
  for (const train::SetForecast& set : std::span(d.sets).first(std::min(d.sets.size(), kShownSets)))
    facts.add(&set == d.sets.data() ? "mixture" : "", set_line(set));
  if (d.sets.size() > kShownSets)
    facts.add("", "and " + ckpt::counted(d.sets.size() - kShownSets, "set") + " more (--json has all)");
  facts.add("epoch",
            ckpt::counted(d.samples_per_epoch, "sample") +
                (d.held_back > 0 ? "; " + ckpt::counted(d.held_back, "sample") + " held back for validation" : ""));
  facts.add("position", "sample " + format_count(d.first_sample) + " to " + format_count(d.end_sample) + ", epoch " +
                            format_rounded(d.first_epoch, 4) + " to " + format_rounded(d.end_epoch, 4) +
                            (repeats(d)                      ? ": samples repeat"
                             : is_first_order(*report.start) ? ": no sample repeats"
                                                             : ""));
  if (report.scan.checked > 0 && report.scan.refused.ok())
    facts.add("ids", "looked at in " +
                         (report.scan.checked == report.scan.to_read
                              ? "all of "
                              : "the first " + format_count(report.scan.checked) + " of ") +
                         ckpt::counted(report.scan.to_read, "sample"));
  return heading(palette, "data") + facts.render(palette, "  ");
}

std::string save_count(const train::SaveForecast& s) {
  if (const std::uint64_t every = s.interval.known_steps())
    return ckpt::counted(s.count, "save") + ", every " + ckpt::counted(every, "step") + " and at the end";
  return s.interval.described() + ", and at the end: nobody knows yet how many";
}

/// How much training time the kept steps of the interval "auto" span. A loss spike that is noticed later than that has
/// no step before it to resume from. `stall`: seconds that training waited for a save in an earlier attempt.
std::string reach_text(const train::SaveForecast& s, std::optional<double> stall) {
  constexpr double kLeastStall = 0.0001;  // the minimum that a run uses, too
  const auto reach = [&](double seconds) {
    return format_duration(static_cast<double>(s.kept) * recipe::best_interval(seconds, s.mtbf_seconds));
  };
  const std::string kept = "the newest " + format_count(s.kept) + " span about ";
  const std::string older = s.keep_every > 0 ? "" : "; checkpoint.keep_every keeps older ones";
  if (stall)
    return kept + reach(std::max(*stall, kLeastStall)) + ", since training waited " + format_rounded(*stall, 3) +
           " s for a save" + older;
  return kept + reach(0.05) + ", " + reach(0.2) + " or " + reach(1) +
         " where training waits 0.05, 0.2 or 1 s for a save" + older;
}

std::string saves(const PlanReport& report, const Palette& palette) {
  const Forecast& f = report.forecast;
  const train::SaveForecast& s = f.saves;
  if (!s.enabled) return heading(palette, "checkpoints") + "  none: checkpoint.enable = false\n";
  Facts facts;
  facts.add("each", "about " + format_bytes(s.each()) + ": model " + format_bytes(s.model_bytes) + ", optimizer " +
                        format_bytes(s.optimizer_bytes));
  facts.add(
      "number",
      save_count(s) + "; " +
          (s.kept == 0 ? "all are kept"
                       : "the newest " + format_count(s.kept) + (s.kept == 1 ? " is kept" : " are kept")) +
          (s.kept > 0 && s.keep_every > 0 ? ", those of every " + ckpt::counted(s.keep_every, "step") : "") +
          (s.kept > 0 && s.keep_best > 0 ? ", and the best " + format_count(s.keep_best) + " by validation loss" : ""));
  if (s.interval.kind == recipe::SaveInterval::Kind::kAuto && s.kept > 0)
    facts.add("reach", reach_text(s, report.speed.stall_s));
  facts.add("disk", "at most about " + format_bytes(s.disk_bytes()) + " at once, besides what is there");
  if (s.staged_bytes > 0)
    facts.add("memory",
              "at most " + format_bytes(s.staged_bytes) + " a rank on top, of copies while a save is written");
  return heading(palette, "checkpoints") + facts.render(palette, "  ");
}

std::string changes(const PlanReport& report, const Palette& palette) {
  if (!report.start) return "";
  std::string out;
  const std::vector<std::string>& weights = report.start->weights;
  if (!weights.empty()) out += heading(palette, "weights");
  for (const std::string& line : weights) out += "  " + escape(line) + "\n";
  if (!report.stored()) return out;
  const std::vector<recipe::Change>& list = report.start->continuation.changes;
  if (list.empty())
    return out + heading(palette, "settings") + "  none that shapes the curve differs from the checkpoint's\n";
  out += heading(palette, "settings that differ");
  for (const std::string& line : recipe::change_table(list)) out += "  " + escape(line) + "\n";
  return out;
}

}  // namespace

std::vector<std::uint64_t> curve_steps(std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t kPoints = 200;
  std::vector<std::uint64_t> steps;
  if (first > last) return steps;
  const std::uint64_t stride = std::max<std::uint64_t>(1, (last - first) / kPoints);
  for (std::uint64_t step = first; step < last; step += stride) steps.push_back(step);
  steps.push_back(last);
  return steps;
}

std::string plan_text(const PlanReport& report, const Palette& palette) {
  const Forecast& f = report.forecast;
  std::string out = overview(report, palette) + stages(f, palette) + pipeline(f, palette) +
                    (report.device ? device_text(*report.device, f.plan, palette) : "") + data(report, palette) +
                    changes(report, palette);
  if (!report.complete()) out += plan_curve_text(report, palette) + saves(report, palette);
  if (!f.warnings.empty()) out += heading(palette, "warnings");
  for (const std::string& warning : f.warnings)
    out += "  " + palette.paint(Role::kWarning, "!") + " " + escape(warning) + "\n";
  return out;
}

}  // namespace titan::cli
