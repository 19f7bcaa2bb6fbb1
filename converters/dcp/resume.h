#pragma once
// Checks that torchtitan's configuration belongs to a checkpoint. What both say must agree, or the run would follow a
// wrong curve.
#include <cstdint>
#include <vector>

#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/model/train_state.h"
#include "converters/dcp/reader.h"
#include "converters/dcp/torchtitan.h"

namespace titan::convert::dcp {

struct ResumedRun {
  ckpt::LrSchedule lr;
  ckpt::TrainState train;   ///< step, tokens, seed; nothing accepted yet
  std::uint64_t world = 1;  ///< ranks that had data of their own
};

/// Checks last_epoch = step, base LR = optimizer.lr, stored LR = lr(step + 1) to 1e-12 relative, all of Adam's steps
/// and settings equal, and multiplies the tokens of one rank by the ranks.
/// \error kIncompatible naming both values; kCorrupt
ckpt::Result<ResumedRun> check_resume(const DcpReader& source, const std::vector<ckpt::ParameterMeta>& parameters,
                                      const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config);

}  // namespace titan::convert::dcp
