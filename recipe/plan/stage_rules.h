#pragma once
// From the keys of a configuration to the stages of its pipeline: the best cut that keeps to all rules, or one error
// that names those that contradict each other; and the cut of a plan by it. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"
#include "recipe/plan/schedule_kind.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {

/// Stages on each rank of the pipeline: those that the configuration writes down, or makes of
/// parallelism.pipeline_parallel_layers_per_stage, else the fewest that the schedule takes.
/// \error kInvalid: their number does not fit the degree or the schedule; keys that say different numbers
ckpt::Result<std::uint32_t> chunks_of(const Config::Parallelism& keys, const ScheduleFacts& facts,
                                      std::uint32_t layers);

/// The model and the pipeline that are to be cut.
struct StageQuestion {
  ScheduleKind schedule = ScheduleKind::k1F1B;
  std::uint32_t ranks = 1, chunks = 1, layers = 0;
  PartCosts costs;
  std::vector<std::uint32_t>
      most_of_rank;  ///< layers that parallelism.memory_limit leaves each rank; empty: any number
};

struct StageChoice {
  std::vector<std::uint32_t> layers;  ///< of each stage
  std::string from;                   ///< the key that says them; empty: the best by cost
};

/// \error kInvalid: more stages than parts, naming the largest feasible degree; rules that contradict each other,
/// naming the fewest that do and the nearest values that do not
ckpt::Result<StageChoice> choose_stages(const Config::Parallelism& keys, const StageQuestion& question);

/// Writes cuts and the stage of each parameter. \error kInvalid: parameters that are not a Llama-style model's
Status set_stages(const std::vector<std::uint32_t>& layers_of_stage, RunPlan& plan);

}  // namespace titan::recipe
