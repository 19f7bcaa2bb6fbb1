#pragma once
// What a run would do, from its plan alone: stages with cost and memory, the pipeline's bubble, batches, data, saves.
// Pure; `titan-train plan` prints it.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "libtrain/job/forecast/memory.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/keys/interval.h"
#include "recipe/plan/run_plan.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

using ckpt::Result;

/// A stage of the model, and the rank of the pipeline that has it.
struct StageForecast {
  StageParts parts;
  std::uint32_t rank = 0;
  std::uint64_t parameters = 0;  ///< elements; a tied head counts where the embedding is
  double cost_share = 0;         ///< of a step's matrix products
  std::uint32_t in_flight = 0;   ///< micro-batches between forward and backward, at most; of all stages of the rank
  RankMemory memory;             ///< of the rank, with all its stages
};

/// Idle time of the pipeline over that of all its ranks, with a backward of two forwards and no time between ranks.
struct Bubble {
  double equal = 0;       ///< if all stages cost the same: the schedule's own
  double with_costs = 0;  ///< with the costs of these stages
};

/// The order of work of the data-parallel rank with the most micro-batches, on stages that all cost the same: a forward
/// takes one unit of time, a backward two. Of a step too long to be simulated whole, one with fewer micro-batches.
struct DrawnSchedule {
  ScheduleTable table;
  std::vector<std::vector<Span>> spans;  ///< of each action
  double makespan = 0;
  std::uint32_t micro_batches = 0;
  bool cut = false;                           ///< the step has more of them
  std::vector<std::uint32_t> peak_in_flight;  ///< of each rank: pairs of stage and micro-batch
};

struct SaveForecast {
  bool enabled = true;
  std::uint64_t model_bytes = 0,
                optimizer_bytes = 0;  ///< of one checkpoint without compression; tables and JSON come on top
  std::uint64_t count = 0;            ///< until the last step; 0 also where the interval does not say
  recipe::SaveInterval interval;
  double mtbf_seconds = 0;                      ///< of the interval "auto"
  std::uint64_t kept = 0;                       ///< 0: all
  std::uint64_t keep_every = 0, keep_best = 0;  ///< besides
  /// There at once besides those that are there already, the one being written included. Of a number that is not known:
  /// the most that are kept, and one where all are.
  std::uint64_t peak_count = 0;
  std::uint64_t one_save = 0;  ///< bytes that must be free for a save to begin
  /// Of the copies on a rank, at most, while it trains on beside a save; 0: it waits for saves.
  std::uint64_t staged_bytes = 0;
  std::uint64_t each() const { return model_bytes + optimizer_bytes; }
  /// Of peak_count checkpoints, the last of them being saved.
  std::uint64_t disk_bytes() const { return peak_count == 0 ? 0 : (peak_count - 1) * each() + one_save; }
};

/// What a run reads of one set of a mixture.
struct SetForecast {
  std::string name;
  double share = 0;  ///< of the samples, 0 to 1
  std::uint64_t samples = 0, tokens = 0;
  double first_epoch = 0, end_epoch = 0;  ///< passes over it before and after the steps
  std::uint64_t most_epochs = 0;          ///< 0: without end
  bool stops = false;                     ///< the data end behind these; else others take its share
};

struct DataForecast {
  std::string kind;  ///< "text", "tokens"
  std::uint64_t files = 0, bytes = 0, samples_per_epoch = 0, held_back = 0;
  std::uint64_t first_sample = 0, end_sample = 0;  ///< positions before the first and after the last step
  double first_epoch = 0, end_epoch = 0;           ///< the same in epochs
  std::vector<SetForecast> sets;                   ///< of a mixture
};

struct Forecast {
  recipe::RunPlan plan;
  std::uint64_t rank_bytes = 0;  ///< of the rank that needs most
  /// The same with parallelism.gradient_exchange = "always" and "node", where more ranks would then divide the sums;
  /// else 0.
  std::uint64_t rank_bytes_in_turns = 0, rank_bytes_in_nodes = 0;
  std::uint64_t parameters = 0;
  std::uint64_t first_step = 1, last_step = 0;
  std::vector<StageForecast> stages;
  double largest_over_average = 1;  ///< cost of the pipeline rank that costs most
  Bubble bubble;
  DrawnSchedule schedule;
  std::vector<std::uint32_t> rank_micro_batches;  ///< per data-parallel rank
  std::uint64_t tokens_per_step = 0, tokens_before = 0, tokens_after = 0;
  SaveForecast saves;
  std::vector<std::string> warnings;  ///< the plan's and those of the forecast
};

/// Micro-batches of a step of `count` that are simulated: all, but of a step too long to be simulated whole.
std::uint32_t simulated_micro_batches(const recipe::RunPlan& plan, std::uint32_t count);

/// Times of the stages' actions in simulations: by the stages' costs, in forwards of an average stage.
ScheduleCosts stage_costs(const recipe::RunPlan& plan);

/// Forecasts the steps after `start_step` (0: a fresh start). `tokens_before`: seen by then; `steps_there`: checkpoints
/// that retention counts. \error kInvalid: a schedule that does not fit.
Result<Forecast> make_forecast(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                               std::uint64_t tokens_before, std::uint64_t steps_there = 0);

/// What the memory of a pipeline's ranks follows from.
struct RankWork {
  std::vector<std::uint32_t> in_flight;  ///< of each rank: micro-batches between forward and backward at most
  ScheduleTable table;                   ///< empty of a step too long to be simulated whole
  std::span<const Action> row(std::uint32_t rank) const {
    return table.empty() ? std::span<const Action>() : std::span<const Action>(table[rank]);
  }
};
/// \error kInvalid: a schedule that does not fit
Result<RankWork> rank_work(const recipe::RunPlan& plan);

/// The last step that a start trains: training.steps or debug.stop_at_step.
std::uint64_t last_step_of(const recipe::Config& config);

/// Forecasts the saves of the steps after `start_step`.
SaveForecast forecast_saves(const recipe::Config& config, const recipe::RunPlan& plan, std::uint64_t start_step,
                            std::uint64_t steps_there);

/// Forecasts the data: `position` at the start, `held_back` validation samples, `samples` to be consumed.
DataForecast forecast_data(const ckpt::DataPosition& position, std::uint64_t held_back, std::uint64_t samples);

}  // namespace titan::train
