#pragma once
// Chooses the pipeline stages by the keys of a configuration: the best division of layers that satisfies all rules, or
// one error that names the contradicting rules. Also writes the division into a plan. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"
#include "recipe/plan/schedule_kind.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {

struct RunPlan;

/// The number of stages per pipeline rank. It follows from stages that the configuration lists, or from
/// parallelism.pipeline_parallel_layers_per_stage; else it is the fewest that the schedule can have.
/// \error kInvalid: the number does not fit the pipeline degree or the schedule; keys that give different numbers; else
/// as written_stages
ckpt::Result<std::uint32_t> chunks_of(const Config::Parallelism& keys, const ScheduleFacts& facts,
                                      std::uint32_t layers);

/// The model and the pipeline for which stages are chosen.
struct StageQuestion {
  ScheduleKind schedule = ScheduleKind::k1F1B;
  std::uint32_t ranks = 1, chunks = 1, layers = 0;
  PartCosts costs;
  std::vector<std::uint32_t> most_of_rank;  ///< maximum number of layers per rank under parallelism.memory_limit;
                                            ///< empty: no limit
};

/// The chosen stages.
struct StageChoice {
  std::vector<std::uint32_t> layers;  ///< number of layers of each stage
  std::string from;                   ///< the key that gives them; empty: chosen by cost
};

/// Chooses the stages. \error kInvalid: more stages than parts (names the largest possible degree); contradicting rules
/// (names a set of them from which none can be left out, and the nearest possible values); else as written_stages and
/// weighted_stages
ckpt::Result<StageChoice> choose_stages(const Config::Parallelism& keys, const StageQuestion& question);

/// Writes into `plan` the stage cuts, the pipeline rank of each parameter (parameters[i].stage) and, if a rank has
/// several stages, the stage of each parameter (`stages`). \error as ckpt::group_parameters
ckpt::Status set_stages(const std::vector<std::uint32_t>& layers_of_stage, RunPlan& plan);

}  // namespace titan::recipe
