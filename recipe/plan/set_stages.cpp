#include "recipe/plan/set_stages.h"

#include <algorithm>

#include "ckpt/plan/partition.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {

Status set_stages(const std::vector<std::uint32_t>& layers_of_stage, RunPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::ModelGroups groups, ckpt::group_parameters(plan.parameters));
  plan.stage_cuts = cuts_of_layers(layers_of_stage);
  plan.stages.clear();
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const auto cut = std::ranges::upper_bound(plan.stage_cuts, groups.group_of[i]);
    const auto stage = static_cast<std::uint32_t>(cut - plan.stage_cuts.begin());
    plan.parameters[i].stage = plan.rank_of(stage);
    if (plan.chunks > 1) plan.stages.push_back(stage);
  }
  return ckpt::ok_status();
}

}  // namespace titan::recipe
