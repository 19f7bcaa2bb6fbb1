#include "libtrain/forecast/device_forecast.h"

#include <algorithm>

#include "libtrain/forecast/forecast.h"
#include "libtrain/pipeline/schedule_of.h"
#include "recipe/plan/flops.h"
#include "recipe/plan/stage_cost.h"

namespace titan::train {
namespace {

using ckpt::Result;

constexpr double kTera = 1e12, kGiga = 1e9;
constexpr std::uint32_t kLookedAt = 64;  // data-parallel ranks whose exchange is counted; they differ by a leaf

/// AdamW reads parameter, gradient and both moments, and writes all but the gradient; the norm reads the gradient once
/// more; bf16 weights are written beside.
constexpr double kOptimizerBytes = 28 + 4, kCopyBytes = 2;

double real(std::int64_t value) { return static_cast<double>(value); }

struct StageTimes {
  std::vector<StageSeconds> stages;
  ScheduleCosts costs;
};

/// Head and loss are computed forward and backward at once, in the forward of their stage.
Result<StageTimes> stage_times(const recipe::RunPlan& plan, const recipe::DeviceFigures& device) {
  TITAN_ASSIGN_OR_RETURN(const recipe::PartCosts parts, recipe::part_costs("flops", plan.dims, plan.batch.seq_len));
  const double rate = (plan.bf16 ? device.bf16_tflops : device.fp32_tflops) * device.compute_share * kTera,
               tokens = real(plan.batch.micro * plan.batch.seq_len),
               layer = tokens * static_cast<double>(parts.layer) / rate,
               head = tokens * static_cast<double>(parts.head) / rate;
  StageTimes times{{}, ScheduleCosts::equal(plan.stage_count(), 0, 0, 0)};
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage) {
    const StageParts held = stage_parts(plan, stage);
    const double layers = layer * real(held.end_layer - held.first_layer);
    double again = 0;
    for (std::int64_t i = held.first_layer; i < held.end_layer; ++i)
      if (recipe::recomputes(plan, i)) again += layer;
    times.costs.forward[stage] = layers + (held.head ? 3 * head : 0);
    times.costs.input[stage] = layers + again;
    times.costs.weight[stage] = layers;
    times.stages.push_back({times.costs.forward[stage], 2 * layers + again});
  }
  return times;
}

/// Whether neighbours of the pipeline are always on one node. Rank = pipeline rank x DP degree + data-parallel rank.
bool pipeline_in_node(const recipe::RunPlan& plan, std::uint32_t per_node) {
  const Nodes nodes{per_node};
  for (std::uint32_t rank = 0; rank + plan.mesh.dp < plan.mesh.world(); ++rank)
    if (!nodes.together(rank, rank + plan.mesh.dp)) return false;
  return true;
}

/// Of all micro-batches of the data-parallel rank that has most.
Result<double> pipeline_seconds(const recipe::RunPlan& plan, const ScheduleCosts& costs) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank) count = std::max(count, share_of(plan, rank).count);
  const std::uint32_t simulated = simulated_micro_batches(plan, count);
  TITAN_ASSIGN_OR_RETURN(const ScheduleTable table, schedule_of(plan, simulated));
  TITAN_ASSIGN_OR_RETURN(const Simulation simulation, simulate(table, costs));
  std::vector<double> of_rank(plan.mesh.pp, 0);
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage)
    of_rank[plan.rank_of(stage)] += costs.forward[stage] + costs.input[stage] + costs.weight[stage];
  return simulation.makespan + (count - simulated) * *std::ranges::max_element(of_rank);
}

/// Adds up what one rank exchanges in a step, and keeps the largest of each.
class Exchanges {
 public:
  Exchanges(const recipe::RunPlan& plan, const recipe::DeviceFigures& device) : plan_(plan), device_(device) {}

  void look_at(const StageExchange& exchange, std::uint32_t pp_rank, std::uint32_t dp_rank) {
    constexpr std::uint32_t kSum = 4;
    const std::uint32_t first = pp_rank * plan_.mesh.dp;
    Part sums, copies;
    const std::uint32_t domain = domain_size(plan_), place = dp_rank % domain;
    const bool in_turns = !exchange.turns.empty();
    for (const StageExchange::Turns& turns : exchange.turns)
      add(sums, turns.plan, kSum, {first + dp_rank - place}, scheduled_count(plan_, dp_rank));
    add(sums, exchange.sums, kSum, in_turns ? Peers{first + place, domain} : Peers{first}, 1);
    for (const StageExchange::Sharing& sharing : exchange.sharings)
      add(copies, sharing.plan, static_cast<std::uint32_t>(sharing.width), {first}, 1);
    if (exchange.sends_tied) {
      const auto table = static_cast<std::uint64_t>(plan_.dims.vocab_size * plan_.dims.dim);
      add_message(sums, kSum * table, first + dp_rank, dp_rank);
      add_message(copies, (plan_.bf16 ? 2 : kSum) * table, first + dp_rank, dp_rank);
    }
    keep_larger(sums_, sums);
    keep_larger(copies_, copies);
  }

  void write(DeviceForecast& forecast) const {
    forecast.gradients = sums_.bytes;
    forecast.weights = copies_.bytes;
    forecast.step.gradients = sums_.seconds;
    forecast.step.weights = copies_.seconds;
  }

 private:
  struct Part {
    LinkBytes bytes;
    double seconds = 0;
  };

  void add(Part& part, const ExchangePlan& exchange, std::uint32_t width, const Peers& peers, std::uint32_t times) {
    const LinkBytes bytes = link_bytes(exchange, width, peers, Nodes{device_.per_node});
    part.bytes.in_node += bytes.in_node * times;
    part.bytes.between_nodes += bytes.between_nodes * times;
    part.seconds += link_seconds(exchange, width, peers, device_) * times;
  }
  void add_message(Part& part, std::uint64_t bytes, std::uint32_t from, std::uint32_t to) {
    const bool in_node = Nodes{device_.per_node}.together(from, to);
    (in_node ? part.bytes.in_node : part.bytes.between_nodes) += bytes;
    part.seconds += message_seconds(bytes, in_node, device_);
  }
  static void keep_larger(Part& kept, const Part& part) {
    if (part.seconds > kept.seconds) kept = part;
  }

  const recipe::RunPlan& plan_;
  const recipe::DeviceFigures& device_;
  Part sums_, copies_;
};

double optimizer_seconds(const recipe::RunPlan& plan, const ckpt::Ownership& ownership,
                         const recipe::DeviceFigures& device) {
  std::uint64_t most = 0;
  for (std::uint32_t rank = 0; rank < plan.mesh.world(); ++rank) {
    std::uint64_t owned = 0;
    for (const ckpt::OwnedPiece& piece : ownership.of(rank)) {
      const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(plan.leaf_elements);
      owned += grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first);
    }
    most = std::max(most, owned);
  }
  return static_cast<double>(most) * (kOptimizerBytes + (plan.bf16 ? kCopyBytes : 0)) /
         (device.memory_gb_s * device.link_share * kGiga);
}

Result<std::vector<RankMemory>> memory_of_ranks(const recipe::RunPlan& plan, const ckpt::Ownership& ownership) {
  TITAN_ASSIGN_OR_RETURN(const RankWork work, rank_work(plan));
  std::vector<RankMemory> memory;
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank)
    memory.push_back(rank_memory(plan, ownership, rank, work.row(rank), work.in_flight[rank]));
  return memory;
}

std::uint64_t largest(const std::vector<RankMemory>& memory) {
  std::uint64_t most = 0;
  for (const RankMemory& rank : memory) most = std::max(most, rank.total());
  return most;
}

}  // namespace

std::uint64_t DeviceForecast::rank_bytes() const { return largest(memory) + device.reserve_bytes; }

Result<std::uint64_t> device_bytes(const recipe::RunPlan& plan, const recipe::DeviceFigures& device) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<RankMemory> memory, memory_of_ranks(plan, recipe::owners_of(plan)));
  return largest(memory) + device.reserve_bytes;
}

Result<DeviceForecast> forecast_device(const recipe::RunPlan& plan, const recipe::DeviceFigures& device) {
  DeviceForecast forecast;
  forecast.device = device;
  const ckpt::Ownership ownership = recipe::owners_of(plan);
  TITAN_ASSIGN_OR_RETURN(forecast.memory, memory_of_ranks(plan, ownership));
  TITAN_ASSIGN_OR_RETURN(StageTimes times, stage_times(plan, device));
  if (plan.mesh.pp > 1) {
    const std::int64_t hidden = plan.batch.micro * plan.batch.seq_len * plan.dims.dim * (plan.bf16 ? 2 : 4);
    forecast.hop_seconds =
        message_seconds(static_cast<std::uint64_t>(hidden), pipeline_in_node(plan, device.per_node), device);
    times.costs.hop = forecast.hop_seconds;
  }
  TITAN_ASSIGN_OR_RETURN(forecast.step.pipeline, pipeline_seconds(plan, times.costs));
  forecast.stages = std::move(times.stages);

  Exchanges exchanges(plan, device);
  for (std::uint32_t stage = 0; stage < plan.mesh.pp; ++stage)
    for (std::uint32_t rank = 0; rank < std::min(plan.mesh.dp, kLookedAt); ++rank)
      exchanges.look_at(plan_stage_exchange(plan, ownership, stage, rank), stage, rank);
  exchanges.write(forecast);
  forecast.step.optimizer = optimizer_seconds(plan, ownership, device);

  forecast.tokens_per_second = real(plan.batch.tokens_per_step()) / forecast.step.total();
  const double peak = (plan.bf16 ? device.bf16_tflops : device.fp32_tflops) * kTera * plan.mesh.world();
  forecast.mfu = forecast.tokens_per_second * recipe::flops_per_token(plan) / peak;
  return forecast;
}

}  // namespace titan::train
