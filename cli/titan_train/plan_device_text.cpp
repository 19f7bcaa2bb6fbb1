// `plan --device` as text and as JSON.
#include <algorithm>

#include "ckpt/base/text.h"
#include "cli/kit/table.h"
#include "cli/kit/units.h"
#include "cli/titan_train/plan_device.h"
#include "libtrain/job/forecast/link_time.h"
#include "recipe/plan/exchange_parts.h"
#include "recipe/plan/plan_values.h"

namespace titan::cli {
namespace {

using train::DeviceForecast;

std::string seconds(double value) {
  return value >= 1 ? format_rounded(value, 3) + " s" : format_rounded(1000 * value, 3) + " ms";
}
std::string giga(std::uint64_t bytes) {
  const double gb = static_cast<double>(bytes) / train::kGiga;
  return gb < 999.5 ? format_rounded(gb, 3) + " GB" : format_rounded(gb / 1000, 3) + " TB";
}

std::string moved(const train::LinkBytes& bytes) {
  if (bytes.total() == 0) return "none";
  std::string text = bytes.in_node > 0 ? giga(bytes.in_node) + " within the node" : "";
  if (bytes.between_nodes > 0) text += (text.empty() ? "" : " and ") + giga(bytes.between_nodes) + " between nodes";
  return text;
}

/// A row per stage. Memory is per pipeline rank, and shown in the row of the rank's first stage.
std::string stage_table(const DeviceForecast& f, const recipe::RunPlan& plan, const Palette& palette) {
  Table table({{"stage", Align::kRight},
               {"forward", Align::kRight},
               {"backward", Align::kRight},
               {"a rank takes", Align::kRight},
               {"of the memory", Align::kRight}});
  for (std::uint32_t stage = 0; stage < f.stages.size(); ++stage) {
    std::vector<Cell> row = {std::to_string(stage), seconds(f.stages[stage].forward),
                             seconds(f.stages[stage].backward)};
    if (stage < plan.mesh.pp) {
      const std::uint64_t bytes = f.memory[plan.rank_of(stage)].total() + f.device.reserve_bytes;
      const double share = static_cast<double>(bytes) / static_cast<double>(f.device.memory_bytes);
      row.push_back(format_bytes(bytes));
      row.push_back({format_share(share), share > 1 ? Role::kWarning : Role::kPlain});
    }
    row.resize(5, Cell(""));
    table.row(row);
  }
  return table.render(palette, "  ");
}

/// Settings that would fit instead.
std::string way_out(const DeviceReport& report, const Palette& palette) {
  if (report.forecast.fits()) return "";
  std::string text = "  " + palette.paint(Role::kWarning, "!") +
                     " it does not fit: " + format_bytes(report.forecast.rank_bytes()) + " needed, " +
                     format_bytes(report.forecast.device.memory_bytes) + " there\n";
  for (const train::FittingSettings& fit : report.fitting.fits)
    text += "    fits: " + ckpt::joined(fit.words, " ") + "\n      " + format_bytes(fit.rank_bytes) + ", " +
            seconds(fit.step_seconds) + " a step" + (fit.same_curve ? "" : "; shapes the curve") + "\n";
  if (!report.fitting.fits.empty()) return text;
  return text + "    nothing that was tried fits on these GPUs; least " +
         format_bytes(std::min(report.fitting.least.rank_bytes, report.forecast.rank_bytes())) +
         (report.fitting.least.words.empty() ? "" : ": " + ckpt::joined(report.fitting.least.words, " ")) +
         "\n    more GPUs divide it further\n";
}

}  // namespace

std::string device_text(const DeviceReport& report, const recipe::RunPlan& plan, const Palette& palette) {
  const DeviceForecast& f = report.forecast;
  const recipe::DeviceFigures& d = f.device;
  Facts facts;
  facts.add("device", d.name + ": " + format_bytes(d.memory_bytes) + " at " + format_rounded(d.memory_gb_s) +
                          " GB/s, " + format_rounded(plan.bf16 ? d.bf16_tflops : d.fp32_tflops) + " TFLOP/s in " +
                          (plan.bf16 ? "bfloat16" : "float32"));
  facts.add("links", "of each GPU, in each direction: " + format_rounded(d.nvlink_gb_s) + " GB/s within nodes of " +
                         std::to_string(d.per_node) + ", " + format_rounded(d.nic_gb_s) + " GB/s between them");
  std::vector<std::string> measured, assumed;
  (d.compute_measured ? measured : assumed).push_back(format_share(d.compute_share) + " of the peak");
  (d.link_measured ? measured : assumed).push_back(format_share(d.link_share) + " of links and memory");
  assumed.push_back(format_bytes(d.reserve_bytes) + " for the libraries");
  if (!measured.empty()) facts.add("measured", ckpt::joined(measured));
  facts.add("assumed", ckpt::joined(assumed));
  Facts step;
  const auto exchanged = [](double all, double hidden) {
    return seconds(all) + (hidden > 0 ? " (" + seconds(hidden) + " hidden)" : "");
  };
  step.add("step", seconds(f.step.total()) + ": pipeline " + seconds(f.step.pipeline) + ", gradients " +
                       exchanged(f.step.gradients, f.step.hidden_gradients) + ", optimizer " +
                       seconds(f.step.optimizer) + ", weights " + exchanged(f.step.weights, f.step.hidden_weights));
  step.add("exchange", "a rank and step: gradients " + moved(f.gradients) + "; weights " + moved(f.weights));
  if (plan.mesh.dp > 1)
    step.add("overlap", plan.exchange_parts == 1
                            ? "nothing overlaps: parallelism.exchange_parts is 1"
                            : "exchanges go in " + std::to_string(recipe::exchange_part_count(plan)) +
                                  " parts while the rank computes");
  if (f.hop_seconds > 0) step.add("transfer", seconds(f.hop_seconds) + " from stage to stage");
  const auto whole = [](double value) { return format_count(static_cast<std::uint64_t>(value)); };
  step.add("speed", whole(f.tokens_per_second) + " tokens/s, " +
                        whole(f.tokens_per_second / static_cast<double>(plan.mesh.world())) + " a GPU, MFU " +
                        format_share(f.mfu));
  return heading(palette, d.compute_measured || d.link_measured
                              ? "on GPUs, by figures: only what the line `measured` has is measured"
                              : "on GPUs, by figures: nothing here is measured") +
         facts.render(palette, "  ") + stage_table(f, plan, palette) + step.render(palette, "  ") +
         way_out(report, palette);
}

void device_json(JsonOut& json, const DeviceReport& report, const recipe::RunPlan& plan) {
  const DeviceForecast& f = report.forecast;
  const recipe::DeviceFigures& d = f.device;
  json.begin_object("device");
  json.members("name", d.name, "memory_bytes", d.memory_bytes, "memory_gb_s", d.memory_gb_s, "bf16_tflops",
               d.bf16_tflops, "fp32_tflops", d.fp32_tflops, "nvlink_gb_s", d.nvlink_gb_s, "nic_gb_s", d.nic_gb_s);
  json.members("gpus_per_node", d.per_node, "compute_share", d.compute_share, "link_share", d.link_share,
               "reserve_bytes", d.reserve_bytes);
  json.members("rank_bytes", f.rank_bytes(), "fits", f.fits());
  json.each("stages", f.stages, [&](const train::StageSeconds& stage) {
    json.members("forward_s", stage.forward, "backward_s", stage.backward);
  });
  json.object("step", "total_s", f.step.total(), "pipeline_s", f.step.pipeline, "gradients_s", f.step.gradients,
              "optimizer_s", f.step.optimizer, "weights_s", f.step.weights, "hidden_gradients_s",
              f.step.hidden_gradients, "hidden_weights_s", f.step.hidden_weights, "transfer_s", f.hop_seconds);
  json.members("exchange_parts", recipe::exchange_part_count(plan));
  const auto moved = [&](const char* key, const train::LinkBytes& bytes) {
    json.object(key, "in_node_bytes", bytes.in_node, "between_nodes_bytes", bytes.between_nodes);
  };
  moved("gradients", f.gradients);
  moved("weights", f.weights);
  json.members("tokens_per_s", f.tokens_per_second, "mfu", f.mfu);
  json.each("fitting", report.fitting.fits, [&](const train::FittingSettings& fit) {
    json.members("settings", fit.words, "rank_bytes", fit.rank_bytes, "step_s", fit.step_seconds, "same_curve",
                 fit.same_curve);
  });
  json.end_object();
}

}  // namespace titan::cli
