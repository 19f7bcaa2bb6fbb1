#include "libtrain/job/run/banner.h"

#include <bit>

#include "ckpt/base/printed.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/same_files.h"
#include "libtrain/job/reduction/exchange_plan.h"
#include "libtrain/job/reduction/stage_exchange.h"
#include "recipe/keys/value.h"
#include "recipe/plan/exchange_parts.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

std::string percent(double share) { return ckpt::printed("%.1f%%", 100 * share); }

std::string stage_text(const recipe::RunPlan& plan, std::uint32_t stage) {
  const auto groups = static_cast<std::uint32_t>(plan.dims.n_layers) + 2;
  const std::uint32_t begin = stage == 0 ? 0 : plan.stage_cuts[stage - 1];
  const std::uint32_t end = stage + 1 == plan.stage_count() ? groups : plan.stage_cuts[stage];
  std::uint64_t parameters = 0;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.stage_of(i) == stage) parameters += ckpt::element_count(plan.parameters[i].shape);
  std::string parts;
  const auto add = [&parts](const std::string& part) { parts += (parts.empty() ? "" : " + ") + part; };
  if (begin == 0) add("embedding");
  const std::uint32_t first = std::max(begin, 1u), last = std::min(end, groups - 1);
  if (first < last)
    add("layers " + std::to_string(first - 1) + (last - first > 1 ? "-" + std::to_string(last - 2) : ""));
  if (end == groups) add(plan.dims.tied ? "norm + tied head" : "norm + head");
  const std::string rank = plan.chunks > 1 ? " on pipeline rank " + std::to_string(plan.rank_of(stage)) : "";
  return "stage " + std::to_string(stage) + rank + ": " + parts + ", " + ckpt::with_commas(std::to_string(parameters)) +
         " parameters, " + percent(plan.stage_share[stage]) + " of the cost";
}

std::string rope_text(const recipe::ModelDims& dims) {
  const std::string scaling =
      dims.rope_scaling ? "scaled by " + recipe::rope_scaling_text(*dims.rope_scaling) : "not scaled";
  return "theta " + ckpt::toml_float(dims.rope_theta) + ", " + scaling;
}

std::string value_of(const ckpt::Settings& settings, const std::string& key) {
  for (const auto& [name, value] : settings) {
    if (name == key) return value;
  }
  return "n/a";
}

std::string micro_batches(const recipe::RunPlan& plan) {
  return ckpt::counted(static_cast<std::uint64_t>(plan.batch.count), "micro-batch", "micro-batches");
}

std::string micro_batch_size(const recipe::RunPlan& plan) {
  return std::to_string(plan.batch.micro) + " x " + std::to_string(plan.batch.seq_len) + " tokens";
}

std::string class_text(const std::string& batch, const recipe::RunPlan& plan, const ckpt::Settings& environment) {
  std::string text = batch + ", compute " + (plan.bf16 ? "bfloat16" : "float32") + ", reduction canonical";
  for (const auto& [key, value] : environment) text += ", " + key + " " + value;
  return text;
}

/// Facts about a run on GPUs.
std::vector<std::string> gpu_lines(const ckpt::Settings& environment) {
  if (value_of(environment, "device") == "cpu") return {};
  std::vector<std::string> lines{
      "GPU: training on GPUs is built and tested on a simulated device, not yet run on a GPU"};
  if (value_of(environment, "deterministic") == "false")
    lines.push_back(
        "GPU: debug.deterministic = false gives up that the same run, a resume and another layout have the same bits");
  return lines;
}

}  // namespace

std::string class_line(const recipe::RunPlan& plan, const ckpt::Settings& environment) {
  return class_text("micro-batch " + micro_batch_size(plan) + ", M " + std::to_string(plan.batch.count), plan,
                    environment);
}

std::vector<std::string> exchange_lines(const recipe::RunPlan& plan) {
  std::vector<std::string> lines;
  if (has_node_groups(plan)) {
    const std::uint32_t domain = domain_size(plan);
    lines.push_back("gradients: " + std::to_string(plan.mesh.dp / domain) + " groups of " + std::to_string(domain) +
                    " data-parallel ranks on one node exchange them after each micro-batch, with each other after the "
                    "last");
  }
  if (const std::uint32_t parts = recipe::exchange_part_count(plan); parts > 1)
    lines.push_back("exchange: in " + std::to_string(parts) + " parts, overlapping with computing");
  return lines;
}

std::string exchange_cost(const recipe::RunPlan& plan) {
  const GroupPeers ways = group_peers(plan_stage_exchange(plan, recipe::owners_of(plan), 0, 0), true);
  const auto sends_slices = [](const ExchangePeers& group) { return group.all_to_all || !group.few.empty(); };
  if (!sends_slices(ways.stage) && !sends_slices(ways.between_nodes)) return "";
  recipe::RunPlan even = plan;
  even.mesh.dp = std::bit_floor(plan.mesh.dp);
  even.batch.count = even.mesh.dp * std::int64_t{share_of(plan, 0).count};
  const Traffic traffic = busiest_traffic(plan);
  return "exchange: the busiest rank sends " + ckpt::counted(static_cast<std::uint64_t>(traffic.messages), "message") +
         " a step in " + ckpt::counted(static_cast<std::uint64_t>(traffic.rounds), "round") + "; " +
         ckpt::with_commas(std::to_string(busiest_traffic(even).messages)) + " where " +
         ckpt::counted(even.mesh.dp, "data-parallel rank") + ", a power of two, divide the micro-batches evenly";
}

std::string model_files_line(const std::vector<ckpt::ModelFile>& files) {
  std::string names;
  std::uint64_t bytes = 0;
  for (const ckpt::ModelFile& file : files) {
    names += (names.empty() ? "" : ", ") + file.member;
    bytes += file.bytes.size();
  }
  return "model files: " + names + " (" + ckpt::with_commas(std::to_string(bytes)) + " bytes) go into every checkpoint";
}

std::vector<std::string> banner_lines(const recipe::RunPlan& plan, const BannerFacts& facts) {
  std::vector<std::string> lines;
  std::uint64_t parameters = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) parameters += ckpt::element_count(parameter.shape);
  lines.push_back("mesh: " + std::to_string(plan.mesh.dp) + " x " + std::to_string(plan.mesh.pp) + " (DP x PP), " +
                  ckpt::counted(plan.mesh.world(), "rank") + ", schedule " + plan.schedule_name() + ", " +
                  ckpt::with_commas(std::to_string(parameters)) + " parameters");
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage) lines.push_back(stage_text(plan, stage));

  lines.push_back("RoPE: " + rope_text(plan.dims));

  std::string blocks;
  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank) {
    blocks += (rank == 0 ? "" : ", ") + std::to_string(share_of(plan, rank).count);
    if (rank == 7 && plan.mesh.dp > 8) {
      blocks += ", ...";
      break;
    }
  }
  lines.push_back("batch: " + micro_batches(plan) + " of " + micro_batch_size(plan) + " (per DP rank: " + blocks +
                  "), " + ckpt::with_commas(std::to_string(plan.batch.tokens_per_step())) + " tokens per step");
  for (std::string& line : exchange_lines(plan)) lines.push_back(std::move(line));
  lines.push_back("data: " + facts.data + "; seed " + std::to_string(facts.seed));
  if (!facts.left_out.empty()) lines.push_back("data: left out: " + ckpt::first_few(facts.left_out));
  if (ckpt::has_setting(facts.environment, "isa"))
    lines.push_back("machine: BLAS " + value_of(facts.environment, "blas") + ", ISA " +
                    value_of(facts.environment, "isa") + ", threads per rank " +
                    value_of(facts.environment, "threads_per_rank"));
  lines.push_back("bit-for-bit with: " +
                  class_text(micro_batches(plan) + " of " + micro_batch_size(plan), plan, facts.environment));
  for (std::string& line : gpu_lines(facts.environment)) lines.push_back(std::move(line));
  const std::string steps = "steps " + std::to_string(facts.first_step) + " to " + std::to_string(facts.last_step);
  if (facts.start.empty())
    lines.push_back("start: new run in " + facts.run_dir + ": " + steps);
  else
    lines.push_back("start: " + facts.start + "; " + steps + ", run folder " + facts.run_dir);
  return lines;
}

}  // namespace titan::train
