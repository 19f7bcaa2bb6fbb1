#pragma once
// Checks that torchtitan's configuration belongs to a checkpoint. What both say must agree, or the run would follow a
// wrong curve.
#include <cstdint>
#include <functional>
#include <string>
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

/// What torchtitan has trained.
struct TrainedParameters {
  const std::vector<ckpt::ParameterMeta>& parameters;
  const std::vector<std::string>& names;  ///< of each in the optimizer
  bool newer = false;                     ///< by torchtitan 0.3.0, whose schedule stores no rates
};
/// Checks last_epoch = step, base LR = optimizer.lr, stored LR = lr(step + 1) to 1e-12 relative, all of Adam's steps
/// and settings equal, and multiplies the tokens of one rank by the ranks.
/// \error kIncompatible naming both values; kCorrupt
ckpt::Result<ResumedRun> check_resume(const DcpReader& source, const TrainedParameters& trained,
                                      const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config);

/// The same of a program that has no train state of torchtitan's: the step is that of Adam's counts. `optimizer` is
/// what stands before "state." and "param_groups." in names ("optimizer."). The stored rate is that of the step which
/// was done or of the next; tokens are train_state.tokens where that is there (our own exports), else what the
/// configuration's batches make. `our_name` of a parameter's name in the optimizer. `notes` gets what is taken from the
/// configuration. \error kIncompatible naming both values, or what the configuration does not say; kCorrupt
ckpt::Result<ResumedRun> check_plain_resume(const DcpReader& source, const std::string& optimizer,
                                            const std::function<std::string(const std::string&)>& our_name,
                                            const std::vector<ckpt::ParameterMeta>& parameters,
                                            const std::vector<std::uint64_t>& optimizer_steps,
                                            const recipe::Config& config, std::vector<std::string>& notes);

}  // namespace titan::convert::dcp
