#include "libtrain/engine/exchange/exchange_setup.h"

#include <ATen/core/grad_mode.h>

#include <utility>

namespace titan::train {

ExchangeSetup::ExchangeSetup(World& world_, const recipe::RunPlan& plan_, const ckpt::Ownership& owners,
                             const RankStages& stages_)
    : world(world_),
      plan(plan_),
      stages(stages_),
      exchange(plan_stage_exchange(plan_, owners, static_cast<std::uint32_t>(world_.stage),
                                   static_cast<std::uint32_t>(world_.dp_rank))),
      share(share_of(plan_, static_cast<std::uint32_t>(world_.dp_rank))),
      rows(exchange.buffer_bytes),
      tied(world_, plan_, exchange) {
  std::size_t summand = 0;
  for (const Stage* stage : stages.stages()) {
    first_summand[stage->index()] = summand;
    summand += stage->parameters().size();
  }
  summand = 0;
  for (const StageParameter* parameter : stages.parameters()) {
    if (!parameter->tied_head) summand_of[parameter->index] = summand;
    ++summand;
  }
}

void ExchangeSetup::run(Lane::Work work) const {
  if (!lane) return work();
  lane->give([work = std::move(work)] {
    const at::NoGradGuard no_grad;
    work();
  });
}

}  // namespace titan::train
