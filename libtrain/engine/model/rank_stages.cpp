#include "libtrain/engine/model/rank_stages.h"

#include "recipe/plan/plan_values.h"

namespace titan::train {

RankStages::RankStages(const recipe::RunPlan& plan, std::uint32_t rank, std::int64_t max_seq_len, Masters masters) {
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    Stage& stage = held_.emplace_back(plan, plan.stage_of_chunk(rank, chunk), max_seq_len, masters);
    stages_.push_back(&stage);
    for (StageParameter& parameter : stage.parameters()) parameters_.push_back(&parameter);
  }
}

void RankStages::init_weights(std::uint64_t seed) {
  for (Stage* stage : stages_) stage->init_weights(seed);
}

void RankStages::refresh() {
  for (Stage* stage : stages_) stage->refresh();
}

}  // namespace titan::train
