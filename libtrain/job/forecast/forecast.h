#pragma once
// Forecast of a run from its plan: stages with cost and memory, pipeline bubble, batches, data, saves. Pure;
// `titan-train plan` prints it.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "libtrain/job/forecast/memory.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/keys/interval.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

using ckpt::Result;

/// A stage of the model, and the pipeline rank that holds it.
struct StageForecast {
  StageParts parts;
  std::uint32_t rank = 0;
  std::uint64_t parameters = 0;  ///< elements; a tied head counts where the embedding is
  double cost_share = 0;         ///< fraction of the cost of all stages, by parallelism.stage_cost
  std::uint32_t in_flight = 0;   ///< most pairs of stage and micro-batch of the rank that are between forward and
                                 ///< backward at once
  RankMemory memory;             ///< of the rank with all its stages
};

/// Pipeline bubble: idle time divided by the time of all pipeline ranks, if a backward takes as long as two forwards
/// and transfers take no time.
struct Bubble {
  double equal = 0;       ///< if all stages cost the same, so that only the schedule counts
  double with_costs = 0;  ///< with the costs of these stages
};

/// The timeline of the data-parallel rank with the most micro-batches, with equal stage costs: a forward takes one unit
/// of time, a backward two. If a step is too long to simulate, the timeline of a step with fewer micro-batches (`cut`).
struct DrawnSchedule {
  ScheduleTable table;
  std::vector<std::vector<Span>> spans;  ///< of each action
  double makespan = 0;
  std::uint32_t micro_batches = 0;
  bool cut = false;                           ///< the real step has more micro-batches
  std::vector<std::uint32_t> peak_in_flight;  ///< of each rank: pairs of stage and micro-batch
};

struct SaveForecast {
  bool enabled = true;
  std::uint64_t model_bytes = 0,
                optimizer_bytes = 0;  ///< for one uncompressed checkpoint, without leaf tables and JSON
  std::uint64_t count = 0;            ///< number of saves until the last step; 0 also if the interval does not
                                      ///< determine it
  recipe::SaveInterval interval;
  double mtbf_seconds = 0;                      ///< mean time between failures, for the interval "auto"
  std::uint64_t kept = 0;                       ///< 0: all
  std::uint64_t keep_every = 0, keep_best = 0;  ///< kept in addition to `kept`
  /// Maximum number of new checkpoints on disk at once, including the one being written. If `count` is not known: the
  /// number that are kept, or one if all are kept.
  std::uint64_t peak_count = 0;
  std::uint64_t one_save = 0;  ///< free bytes needed to start a save
  /// Maximum bytes that a rank stages so that training can continue during a save; 0: training waits for saves.
  std::uint64_t staged_bytes = 0;
  std::uint64_t each() const { return model_bytes + optimizer_bytes; }
  /// Bytes of peak_count checkpoints, the last of which is being saved.
  std::uint64_t disk_bytes() const { return peak_count == 0 ? 0 : (peak_count - 1) * each() + one_save; }
};

/// What a run reads of one set of a mixture.
struct SetForecast {
  std::string name;
  double share = 0;  ///< fraction of the samples, 0 to 1
  std::uint64_t samples = 0, tokens = 0;
  double first_epoch = 0, end_epoch = 0;  ///< passes over the set, counted before and after the steps
  std::uint64_t most_epochs = 0;          ///< 0: no limit
  bool stops = false;                     ///< after most_epochs: true ends the data, false gives its share to the other
                                          ///< sets
};

struct DataForecast {
  std::string kind;  ///< "text", "tokens"
  std::uint64_t files = 0, bytes = 0, samples_per_epoch = 0, held_back = 0;
  std::uint64_t first_sample = 0, end_sample = 0;  ///< positions before the first and after the last step
  double first_epoch = 0, end_epoch = 0;           ///< the same positions in epochs
  std::vector<SetForecast> sets;                   ///< of a mixture
};

struct Forecast {
  recipe::RunPlan plan;
  std::uint64_t rank_bytes = 0;  ///< memory of the rank that needs most
  /// rank_bytes with parallelism.gradient_exchange = "always" and "node", if more ranks would then share the sums; else
  /// 0.
  std::uint64_t rank_bytes_in_turns = 0, rank_bytes_in_nodes = 0;
  std::uint64_t parameters = 0;
  std::uint64_t first_step = 1, last_step = 0;
  std::vector<StageForecast> stages;
  double largest_over_average = 1;  ///< cost of the most expensive pipeline rank / mean cost
  Bubble bubble;
  DrawnSchedule schedule;
  std::vector<std::uint32_t> rank_micro_batches;  ///< per data-parallel rank
  std::uint64_t tokens_per_step = 0, tokens_before = 0, tokens_after = 0;
  SaveForecast saves;
  std::vector<std::string> warnings;  ///< of the plan and of the forecast
};

/// How many micro-batches are simulated for a step of `count`: all, unless the step is too long to be simulated.
std::uint32_t simulated_micro_batches(const recipe::RunPlan& plan, std::uint32_t count);

/// Times of the stages' actions in simulations, from the stages' costs. The unit is the forward of an average stage.
ScheduleCosts stage_costs(const recipe::RunPlan& plan);

/// Forecasts the steps after `start_step` (0: a fresh start). `tokens_before`: tokens seen before these steps.
/// `steps_there`: as in forecast_saves(). \error kInvalid: a schedule that does not fit.
Result<Forecast> make_forecast(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                               std::uint64_t tokens_before, std::uint64_t steps_there = 0);

/// What determines the memory of a pipeline's ranks.
struct RankWork {
  std::vector<std::uint32_t> in_flight;  ///< of each rank: most pairs of stage and micro-batch in flight at once
  ScheduleTable table;                   ///< empty if a step is too long to be simulated
  std::span<const Action> row(std::uint32_t rank) const {
    return table.empty() ? std::span<const Action>() : std::span<const Action>(table[rank]);
  }
};
/// \error kInvalid: a schedule that does not fit
Result<RankWork> rank_work(const recipe::RunPlan& plan);

/// The last step that a start trains: training.steps or debug.stop_at_step.
std::uint64_t last_step_of(const recipe::Config& config);

/// Forecasts the saves of the steps after `start_step`. `steps_there`: number of existing checkpoints that retention
/// counts.
SaveForecast forecast_saves(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                            std::uint64_t steps_there);

/// Forecasts the data: `position` at the start, `held_back` validation samples, `samples` to be consumed.
DataForecast forecast_data(const ckpt::DataPosition& position, std::uint64_t held_back, std::uint64_t samples);

}  // namespace titan::train
