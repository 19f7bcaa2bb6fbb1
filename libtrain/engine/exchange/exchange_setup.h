#pragma once
// Common data of an exchange's parts: ranks, parameters and plans of this rank's stages.
#include <cstdint>
#include <map>

#include "libtrain/engine/device/lane.h"
#include "libtrain/engine/exchange/row_exchange.h"
#include "libtrain/engine/exchange/tied_head.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/reduction/stage_exchange.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

struct ExchangeSetup {
  /// `world_`, `plan_` and `stages_` must outlive it.
  ExchangeSetup(World& world_, const recipe::RunPlan& plan_, const ckpt::Ownership& owners, const RankStages& stages_);
  ExchangeSetup(const ExchangeSetup&) = delete;
  ExchangeSetup& operator=(const ExchangeSetup&) = delete;

  World& world;
  const recipe::RunPlan& plan;
  const RankStages& stages;
  StageExchange exchange;
  Share share;                                      ///< this rank's share
  std::map<std::uint32_t, std::size_t> slot_of;     ///< the slot of each parameter; a tied head's slot is not in it
  std::map<std::uint32_t, std::size_t> first_slot;  ///< the first slot of each stage
  RowExchange rows;
  TiedHead tied;
  Lane* lane = nullptr;  ///< null: everything runs at once in the caller

  /// Runs `work` in the lane, overlapped with computing, if there is a lane; else at once.
  void run(Lane::Work work) const;
  std::size_t slots() const { return stages.parameters().size(); }
};

}  // namespace titan::train
