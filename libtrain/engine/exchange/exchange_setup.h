#pragma once
// What the classes of this folder share: the ranks, parameters and plans of this rank's stages.
//
// A summand is a tensor whose gradients are summed: a parameter of this rank's stages (in model order), or a tied head.
// A tied head uses the embedding's weight, but its gradients are summed apart, in the last summand.
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
  /// `world_`, `plan_` and `stages_` must outlive this object.
  ExchangeSetup(World& world_, const recipe::RunPlan& plan_, const ckpt::Ownership& owners, const RankStages& stages_);
  ExchangeSetup(const ExchangeSetup&) = delete;
  ExchangeSetup& operator=(const ExchangeSetup&) = delete;

  World& world;
  const recipe::RunPlan& plan;
  const RankStages& stages;
  StageExchange exchange;  ///< what this rank sends and receives
  Share share;             ///< the micro-batches of this rank
  /// The summand of each parameter; a tied head's summand is not in it.
  std::map<std::uint32_t, std::size_t> summand_of;
  std::map<std::uint32_t, std::size_t> first_summand;  ///< the first summand of each stage
  RowExchange rows;
  TiedHead tied;
  Lane* lane = nullptr;  ///< null: run() calls `work` itself

  /// Gives `work` to the lane, where it overlaps with computing. Without a lane, calls it at once.
  void run(Lane::Work work) const;
  /// The number of summands of this rank's stages.
  std::size_t summands() const { return stages.parameters().size(); }
};

}  // namespace titan::train
