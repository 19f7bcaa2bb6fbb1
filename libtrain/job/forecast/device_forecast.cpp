#include "libtrain/job/forecast/device_forecast.h"

#include <algorithm>
#include <numeric>

#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/forecast/hidden_time.h"
#include "libtrain/job/schedule/schedule_of_run.h"
#include "recipe/plan/flops.h"
#include "recipe/plan/run_plan.h"
#include "recipe/plan/stage_cost.h"

namespace titan::train {
namespace {

using ckpt::Result;

constexpr double kTera = 1e12;
constexpr std::uint32_t kLookedAt = 64;  // data-parallel ranks whose exchange is computed; others differ by at most a
                                         // leaf of elements

/// Bytes per element. AdamW reads parameter, gradient and both moments, and writes all except the gradient; the norm
/// reads the gradient once more; bf16 weights are written in addition.
constexpr double kOptimizerBytes = 28 + 4, kCopyBytes = 2;

/// How many times a forward and a backward write or read the attention probabilities without a fused kernel.
constexpr double kForwardPasses = 4, kBackwardPasses = 8;

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
               head = tokens * static_cast<double>(parts.head) / rate,
               last = 2 * tokens * real(plan.dims.dim * plan.dims.ffn_dim) / rate;  // a layer's last product
  // Where attention is not fused, its fp32 probabilities cross the memory several times.
  const double pass = plan.keeps_scores ? tokens * real(plan.dims.n_heads * plan.batch.seq_len) * sizeof(float) /
                                              (device.memory_gb_s * device.link_share * kGiga)
                                        : 0,
               forward = layer + kForwardPasses * pass, input = layer + kBackwardPasses * pass;
  StageTimes times{{}, ScheduleCosts::equal(plan.stage_count(), 0, 0, 0)};
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage) {
    const StageParts held = stage_parts(plan, stage);
    const double layers = real(held.end_layer - held.first_layer);
    double again = 0;
    for (std::int64_t i = held.first_layer; i < held.end_layer; ++i)
      if (recipe::recomputes(plan, i)) again += forward - last;
    times.costs.forward[stage] = layers * forward + (held.head ? 3 * head : 0);
    times.costs.input[stage] = layers * input + again;
    times.costs.weight[stage] = layers * layer;
    times.stages.push_back({times.costs.forward[stage], times.costs.input[stage] + times.costs.weight[stage]});
  }
  return times;
}

/// Whether pipeline neighbours are always on one node. Rank = pipeline rank x DP degree + data-parallel rank.
bool pipeline_in_node(const recipe::RunPlan& plan, std::uint32_t per_node) {
  const Nodes nodes{per_node};
  for (std::uint32_t rank = 0; rank + plan.mesh.dp < plan.mesh.world(); ++rank)
    if (!nodes.together(rank, rank + plan.mesh.dp)) return false;
  return true;
}

/// Seconds of all micro-batches, for the data-parallel rank with the most.
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

/// What one rank exchanges in a step.
struct Exchanged {
  struct Way {
    LinkBytes bytes;
    double seconds = 0;
  };
  std::uint32_t pp_rank = 0;
  Way sums, copies;
  std::vector<PartSeconds> parts;
  std::vector<PartSeconds> turns;  ///< exchange of one micro-batch, if gradients are exchanged after each micro-batch
};

/// Goes through ranks, and keeps the slowest exchange of each kind.
class Exchanges {
 public:
  Exchanges(const recipe::RunPlan& plan, const recipe::DeviceFigures& device) : plan_(plan), device_(device) {}

  void add_rank(const StageExchange& exchange, std::uint32_t pp_rank, std::uint32_t dp_rank) {
    constexpr std::uint32_t kSum = 4;
    const std::uint32_t first = pp_rank * plan_.mesh.dp;
    Exchanged rank{.pp_rank = pp_rank};
    const std::uint32_t domain = domain_size(plan_), place = dp_rank % domain;
    const bool per_micro_batch = !exchange.turns.empty();
    for (const StageExchange::Turns& turns : exchange.turns) {
      double elements = 0;
      for (const SegmentRow& row : turns.plan.owners) elements += real(row.length());
      rank.turns.push_back({elements, add(rank.sums, turns.plan, static_cast<std::uint32_t>(turns.width),
                                          {first + dp_rank - place}, scheduled_count(plan_, dp_rank))});
    }
    double in_all = 0;
    for (const PartSeconds& turn : rank.turns) in_all += turn.share;
    for (PartSeconds& turn : rank.turns) turn.share /= in_all;
    if (per_micro_batch) add(rank.sums, exchange.between_domains, kSum, {first + place, domain}, 1);
    std::vector<std::uint64_t> elements(exchange.parts.size());
    for (std::size_t summand = 0; summand < exchange.parameters.size(); ++summand)
      elements[exchange.part_of[summand]] += ckpt::element_count(plan_.parameters[exchange.parameters[summand]].shape);
    const auto all = static_cast<double>(std::accumulate(elements.begin(), elements.end(), std::uint64_t{0}));
    for (std::size_t i = 0; i < exchange.parts.size(); ++i) {
      const StageExchange::Part& part = exchange.parts[i];
      PartSeconds seconds{static_cast<double>(elements[i]) / all, add(rank.sums, part.sums, kSum, {first}, 1), 0};
      for (const StageExchange::Copies& copies : part.copies)
        seconds.weights += add(rank.copies, copies.plan, static_cast<std::uint32_t>(copies.width), {first}, 1);
      rank.parts.push_back(seconds);
    }
    if (exchange.sends_tied) {
      const auto table = static_cast<std::uint64_t>(plan_.dims.vocab_size * plan_.dims.dim);
      add_message(rank.sums, kSum * table, first + dp_rank, dp_rank);
      add_message(rank.copies, (plan_.bf16 ? 2 : kSum) * table, first + dp_rank, dp_rank);
    }
    if (rank.sums.seconds > sums_.sums.seconds) sums_ = rank;
    if (rank.copies.seconds > copies_.copies.seconds) copies_ = rank;
  }

  /// Writes the results; `forecast` must have the times of its stages and of the optimizer.
  void write(DeviceForecast& forecast) const {
    forecast.gradients = sums_.sums.bytes;
    forecast.weights = copies_.copies.bytes;
    StepSeconds& step = forecast.step;
    step.gradients = sums_.sums.seconds;
    step.weights = copies_.copies.seconds;
    if (plan_.exchange_parts == 1) return;
    const StageSeconds of_sums = pass_of(forecast, sums_.pp_rank), of_copies = pass_of(forecast, copies_.pp_rank);
    const auto total = [](const std::vector<PartSeconds>& parts, double PartSeconds::*which) {
      double all = 0;
      for (const PartSeconds& part : parts) all += part.*which;
      return all;
    };
    const std::uint32_t count = scheduled_count(plan_, 0);
    step.hidden_gradients = total(sums_.parts, &PartSeconds::sums) - wait_for_sums(sums_.parts, of_sums.backward) +
                            total(sums_.turns, &PartSeconds::sums) * count -
                            wait_for_turns(sums_.turns, of_sums.backward, of_sums.forward + of_sums.backward, count);
    step.hidden_weights = total(copies_.parts, &PartSeconds::weights) -
                          wait_for_weights(copies_.parts, step.optimizer, of_copies.forward);
  }

 private:
  /// Seconds of one micro-batch through all stages of a rank.
  StageSeconds pass_of(const DeviceForecast& forecast, std::uint32_t pp_rank) const {
    StageSeconds sum;
    for (std::uint32_t stage = 0; stage < forecast.stages.size(); ++stage) {
      if (plan_.rank_of(stage) != pp_rank) continue;
      sum.forward += forecast.stages[stage].forward;
      sum.backward += forecast.stages[stage].backward;
    }
    return sum;
  }
  /// Adds `times` such exchanges to `way`; returns the seconds of one.
  double add(Exchanged::Way& way, const ExchangePlan& exchange, std::uint32_t width, const Peers& peers,
             std::uint32_t times) const {
    const LinkBytes bytes = link_bytes(exchange, width, peers, Nodes{device_.per_node});
    way.bytes.in_node += bytes.in_node * times;
    way.bytes.between_nodes += bytes.between_nodes * times;
    const double seconds = link_seconds(exchange, width, peers, device_);
    way.seconds += seconds * times;
    return seconds;
  }
  void add_message(Exchanged::Way& way, std::uint64_t bytes, std::uint32_t from, std::uint32_t to) const {
    const bool in_node = Nodes{device_.per_node}.together(from, to);
    (in_node ? way.bytes.in_node : way.bytes.between_nodes) += bytes;
    way.seconds += message_seconds(bytes, in_node, device_);
  }

  const recipe::RunPlan& plan_;
  const recipe::DeviceFigures& device_;
  Exchanged sums_, copies_;  ///< of the rank with the longest sums, and of the rank with the longest copies
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
        hop_seconds(static_cast<std::uint64_t>(hidden), pipeline_in_node(plan, device.per_node), device);
    times.costs.hop = forecast.hop_seconds;
  }
  TITAN_ASSIGN_OR_RETURN(forecast.step.pipeline, pipeline_seconds(plan, times.costs));
  forecast.stages = std::move(times.stages);

  Exchanges exchanges(plan, device);
  for (std::uint32_t stage = 0; stage < plan.mesh.pp; ++stage)
    for (std::uint32_t rank = 0; rank < std::min(plan.mesh.dp, kLookedAt); ++rank)
      exchanges.add_rank(plan_stage_exchange(plan, ownership, stage, rank), stage, rank);
  forecast.step.optimizer = optimizer_seconds(plan, ownership, device);
  exchanges.write(forecast);

  forecast.tokens_per_second = real(plan.batch.tokens_per_step()) / forecast.step.total();
  const double peak = (plan.bf16 ? device.bf16_tflops : device.fp32_tflops) * kTera * plan.mesh.world();
  forecast.mfu = forecast.tokens_per_second * recipe::flops_per_token(plan) / peak;
  return forecast;
}

}  // namespace titan::train
