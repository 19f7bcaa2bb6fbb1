#include "libtrain/job/forecast/forecast.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "ckpt/base/printed.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/read/ema.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/writer.h"
#include "libtrain/job/host/staging_room.h"
#include "libtrain/job/schedule/schedule_of_run.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

constexpr double kBackward = 2;                  // forwards that a backward costs
constexpr std::uint64_t kSimulated = 1'000'000;  // actions; longer steps are extrapolated

std::string decimals(double value, int digits) { return ckpt::printed("%.*f", digits, value); }

ScheduleCosts costs_of(const std::vector<double>& forward) {
  ScheduleCosts costs{forward, forward, forward};
  for (double& cost : costs.input) cost *= kBackward / 2;
  for (double& cost : costs.weight) cost *= kBackward / 2;
  return costs;
}

struct PipelineForecast {
  Bubble bubble;
  DrawnSchedule drawn;
  std::vector<std::uint32_t> in_flight;

  /// Empty for a long step.
  std::span<const Action> row(std::uint32_t rank) const {
    return drawn.cut ? std::span<const Action>() : std::span<const Action>(drawn.table[rank]);
  }
};

/// Simulates `count` micro-batches. A long step is simulated with fewer, but with complete fill and drain; each further
/// micro-batch takes the time of the slowest rank.
Result<PipelineForecast> forecast_pipeline(const recipe::RunPlan& plan, std::uint32_t count) {
  const std::uint32_t stages = plan.stage_count(), ranks = plan.mesh.pp,
                      simulated = simulated_micro_batches(plan, count);
  const bool cut = simulated < count;
  TITAN_ASSIGN_OR_RETURN(const ScheduleTable table, schedule_of(plan, simulated));
  const std::vector<double> equal(stages, 1.0);

  PipelineForecast forecast;
  const auto idle = [&](const std::vector<double>& forward, double* share) -> ckpt::Status {
    TITAN_ASSIGN_OR_RETURN(Simulation simulation, simulate(table, costs_of(forward)));
    std::vector<double> of_rank(ranks, 0);
    for (std::uint32_t stage = 0; stage < stages; ++stage) of_rank[plan.rank_of(stage)] += forward[stage];
    const double per_micro_batch = (1 + kBackward) * *std::ranges::max_element(of_rank);
    const double makespan = simulation.makespan + (count - simulated) * per_micro_batch;
    *share = 1 - count * (1 + kBackward) * std::accumulate(forward.begin(), forward.end(), 0.0) / (ranks * makespan);
    *share = std::max(*share, 0.0);  // rounding may make it slightly negative
    forecast.in_flight = simulation.peak_in_flight;
    if (forecast.drawn.spans.empty())
      forecast.drawn = {table, std::move(simulation.spans), simulation.makespan, simulated, cut, forecast.in_flight};
    return ckpt::ok_status();
  };
  TITAN_RETURN_IF_ERROR(idle(equal, &forecast.bubble.equal));
  TITAN_RETURN_IF_ERROR(idle(plan.stage_share, &forecast.bubble.with_costs));
  const bool keeps_all =
      plan.schedule == recipe::ScheduleKind::kGPipe || plan.schedule == recipe::ScheduleKind::kLoopedBfs;
  if (cut && keeps_all) std::ranges::fill(forecast.in_flight, count * plan.chunks);
  return forecast;
}

void judge_balance(Forecast& forecast) {
  const recipe::RunPlan& plan = forecast.plan;
  std::vector<double> share(plan.mesh.pp, 0);
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage)
    share[plan.rank_of(stage)] += plan.stage_share[stage];
  const auto stages = static_cast<double>(share.size());
  const auto worst = std::ranges::max_element(share);
  forecast.largest_over_average = *worst * stages;
  if (forecast.largest_over_average <= 1.25) return;
  const auto rank = static_cast<std::uint32_t>(worst - share.begin());
  const StageParts& parts = forecast.stages[plan.stage_of_chunk(rank, plan.chunks - 1)].parts;
  std::string text = (plan.chunks == 1 ? "stage " : "pipeline rank ") + std::to_string(rank) + " costs " +
                     decimals(*worst * stages, 2) + " times the average: at most " +
                     decimals(100 / (*worst * stages), 0) + "% of the ranks' time is used";
  if (parts.head && parts.first_layer == parts.end_layer)
    text += "; it holds the head alone, which cannot be cut: fewer stages waste less";
  else if (!plan.stages_from.empty())
    text += "; without " + plan.stages_from + " stages are cut by cost";
  else
    text += "; another pipeline_parallel_degree may divide the layers better";
  forecast.warnings.push_back(text);
}

}  // namespace

std::uint32_t simulated_micro_batches(const recipe::RunPlan& plan, std::uint32_t count) {
  // A valid number of micro-batches with complete fill and drain.
  const std::uint32_t few = 2 * plan.stage_count();
  const bool is_long = std::uint64_t{plan.stage_count()} * count * 2 > kSimulated;
  return !plan.has_schedule_file() && is_long && count > few ? few : count;
}

ScheduleCosts stage_costs(const recipe::RunPlan& plan) {
  std::vector<double> forward = plan.stage_share;
  for (double& cost : forward) cost *= plan.stage_count();
  return costs_of(forward);
}

Result<RankWork> rank_work(const recipe::RunPlan& plan) {
  std::uint32_t most = 0;
  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank) most = std::max(most, share_of(plan, rank).count);
  TITAN_ASSIGN_OR_RETURN(PipelineForecast pipeline, forecast_pipeline(plan, most));
  RankWork work{std::move(pipeline.in_flight), {}};
  if (!pipeline.drawn.cut) work.table = std::move(pipeline.drawn.table);
  return work;
}

std::uint64_t last_step_of(const recipe::Config& config) {
  const auto steps = static_cast<std::uint64_t>(config.training.steps);
  return config.debug.stop_at_step ? std::min(steps, static_cast<std::uint64_t>(*config.debug.stop_at_step)) : steps;
}

SaveForecast forecast_saves(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                            std::uint64_t steps_there) {
  std::uint64_t parameters = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) parameters += ckpt::element_count(parameter.shape);
  const recipe::Config::Checkpoint& checkpoint = config.checkpoint;
  SaveForecast saves;
  saves.enabled = checkpoint.enable;
  saves.model_bytes = 4 * parameters;
  saves.optimizer_bytes = (plan.ema ? 12 : 8) * parameters;
  ckpt::Snapshot snapshot;
  snapshot.parameters = plan.parameters;
  snapshot.mesh = plan.mesh;
  snapshot.leaf_elements = plan.leaf_elements;
  if (plan.ema) snapshot.slots.emplace_back(ckpt::kEma);
  snapshot.parity = static_cast<std::uint32_t>(checkpoint.parity);
  snapshot.codec = plan.codec;
  saves.one_save = ckpt::space_for_save(snapshot);
  saves.interval = checkpoint.interval;
  saves.mtbf_seconds = checkpoint.mtbf_seconds;
  saves.kept = static_cast<std::uint64_t>(checkpoint.keep_latest_k);
  saves.keep_every = static_cast<std::uint64_t>(checkpoint.keep_every);
  saves.keep_best = static_cast<std::uint64_t>(checkpoint.keep_best);
  const std::uint64_t last = last_step_of(config);
  if (!checkpoint.enable || start_step >= last) return saves;
  const std::uint64_t every = saves.interval.known_steps();
  if (every > 0) {
    saves.count = last / every - start_step / every + (last % every != 0 ? 1 : 0);
    if (checkpoint.enable_first_step_checkpoint && start_step == 0 && last > 1 && every != 1) ++saves.count;
  }
  // Retention deletes after a save: while a folder at its limit gets another step, it holds one more than it keeps.
  std::uint64_t room = saves.kept >= steps_there ? saves.kept - steps_there + 1 : 1;
  room += saves.keep_best;
  if (saves.keep_every > 0) room += last / saves.keep_every - start_step / saves.keep_every;
  const std::uint64_t most = every > 0 ? saves.count : saves.kept > 0 ? last - start_step : 1;
  saves.peak_count = saves.kept == 0 ? most : std::min(most, room);
  return saves;
}

Result<Forecast> make_forecast(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                               std::uint64_t tokens_before, std::uint64_t steps_there) {
  Forecast forecast;
  forecast.plan = plan;
  forecast.warnings = plan.warnings;
  forecast.first_step = start_step + 1;
  forecast.last_step = last_step_of(config);
  const std::uint64_t steps = forecast.last_step > start_step ? forecast.last_step - start_step : 0;
  forecast.tokens_per_step = static_cast<std::uint64_t>(plan.batch.tokens_per_step());
  forecast.tokens_before = tokens_before;
  forecast.tokens_after = tokens_before + steps * forecast.tokens_per_step;

  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank) {
    forecast.rank_micro_batches.push_back(share_of(plan, rank).count);
  }
  TITAN_ASSIGN_OR_RETURN(PipelineForecast pipeline,
                         forecast_pipeline(plan, *std::ranges::max_element(forecast.rank_micro_batches)));
  forecast.bubble = pipeline.bubble;
  for (std::uint32_t stage = 0; stage < plan.stage_count(); ++stage) {
    StageForecast& row = forecast.stages.emplace_back();
    row.parts = stage_parts(plan, stage);
    row.rank = plan.rank_of(stage);
    row.cost_share = plan.stage_share[stage];
    row.in_flight = pipeline.in_flight[row.rank];
    row.memory = rank_memory(plan, row.rank, pipeline.row(row.rank), row.in_flight);
    forecast.rank_bytes = std::max(forecast.rank_bytes, row.memory.total());
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
      if (plan.stage_of(i) == stage) row.parameters += ckpt::element_count(plan.parameters[i].shape);
    forecast.parameters += row.parameters;
  }
  const auto rank_bytes_with = [&](recipe::ExchangeDomain exchange) {
    recipe::RunPlan other = plan;
    other.exchange = exchange;
    std::uint64_t most = 0;
    if (domain_size(other) <= domain_size(plan)) return most;
    for (const StageForecast& row : forecast.stages)
      most = std::max(most, rank_memory(other, row.rank, pipeline.row(row.rank), row.in_flight).total());
    return most;
  };
  forecast.rank_bytes_in_turns = rank_bytes_with(recipe::ExchangeDomain::kAlways);
  forecast.rank_bytes_in_nodes = rank_bytes_with(recipe::ExchangeDomain::kNode);
  forecast.schedule = std::move(pipeline.drawn);
  forecast.saves = forecast_saves(config, plan, start_step, steps_there);
  if (forecast.saves.enabled && config.checkpoint.async_mode != "disabled") {
    // A rank saves what it owns: for each parameter fp32 weights, two moments, and an EMA if the run keeps one.
    const std::uint64_t slots = plan.ema ? 3 : 2;
    std::uint64_t owned = 0;
    for (const StageForecast& row : forecast.stages)
      owned = std::max(owned, row.memory.optimizer / slots * (slots + 1));
    // The memory of another host is not known: assumes as much as the run would use.
    forecast.saves.staged_bytes = staging_room(static_cast<std::uint64_t>(config.checkpoint.staging_bytes), owned,
                                               config.training.device == "cuda", UINT64_MAX, 1);
  }
  judge_balance(forecast);
  if (!config.checkpoint.enable)
    forecast.warnings.push_back("checkpoint.enable = false: nothing is saved, and a stopped run starts anew");
  return forecast;
}

DataForecast forecast_data(const ckpt::DataPosition& position, std::uint64_t held_back, std::uint64_t samples) {
  DataForecast forecast;
  forecast.kind = position.kind;
  forecast.files = position.files.size();
  for (const ckpt::DataFile& file : position.files) forecast.bytes += file.bytes;
  forecast.samples_per_epoch = position.samples_per_epoch;
  forecast.held_back = held_back;
  forecast.first_sample = position.samples;
  forecast.end_sample =
      samples == 0 ? position.samples : ckpt::kept_sample(position.excluded, position.samples, samples - 1) + 1;
  const auto epoch = [&](std::uint64_t sample) {
    return static_cast<double>(position.first_epoch) +
           static_cast<double>(sample - position.epoch_base) / static_cast<double>(position.samples_per_epoch);
  };
  forecast.first_epoch = epoch(forecast.first_sample);
  forecast.end_epoch = epoch(forecast.end_sample);
  if (position.sets.empty()) return forecast;
  const ckpt::Mixture mixture(position);
  const std::vector<std::uint64_t> before = mixture.drawn(forecast.first_sample),
                                   after = mixture.drawn(forecast.end_sample);
  const std::vector<std::string> names = ckpt::set_names(position.sets);
  for (std::size_t i = 0; i < position.sets.size(); ++i) {
    const ckpt::MixedSet& set = position.sets[i];
    const std::uint64_t drawn = after[i] - before[i];
    forecast.sets.push_back({.name = names[i],
                             .share = static_cast<double>(set.share) / 4294967296.0,
                             .samples = drawn,
                             .tokens = drawn * position.seq_len,
                             .first_epoch = ckpt::passes_of(set, before[i]),
                             .end_epoch = ckpt::passes_of(set, after[i]),
                             .most_epochs = ckpt::epochs_of(set),
                             .stops = set.stops});
  }
  return forecast;
}

}  // namespace titan::train
