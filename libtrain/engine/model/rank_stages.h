#pragma once
// The pipeline stages of one rank, and their parameters as one list.
#include <cstdint>
#include <deque>
#include <vector>

#include "libtrain/engine/model/stage.h"

namespace titan::train {

class RankStages {
 public:
  /// Allocates the stages of pipeline rank `rank`; weights are uninitialised. RoPE tables have `max_seq_len` positions.
  RankStages(const recipe::RunPlan& plan, std::uint32_t rank, std::int64_t max_seq_len,
             Masters masters = Masters::kOnDevice);
  RankStages(const RankStages&) = delete;
  RankStages& operator=(const RankStages&) = delete;

  /// The stages of this rank, in model order.
  const std::vector<Stage*>& stages() const { return stages_; }
  /// The parameters of all stages, in model order; a tied head comes last (StageParameter::tied_head).
  const std::vector<StageParameter*>& parameters() const { return parameters_; }

  void init_weights(std::uint64_t seed);  ///< Stage::init_weights() of all stages
  void refresh();                         ///< Stage::refresh() of all stages

 private:
  std::deque<Stage> held_;
  std::vector<Stage*> stages_;
  std::vector<StageParameter*> parameters_;
};

}  // namespace titan::train
