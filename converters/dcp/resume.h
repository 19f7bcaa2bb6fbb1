#pragma once
// Checks that a configuration is the one that a DCP checkpoint was trained with. With another one the resumed run would
// follow another LR schedule.
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

/// The state of the run to resume.
struct ResumedRun {
  ckpt::LrSchedule lr;
  ckpt::TrainState train;   ///< step, tokens and seed; accepted settings are still empty
  std::uint64_t world = 1;  ///< ranks that read different data
};

/// The parameters of a checkpoint of torchtitan.
struct TrainedParameters {
  const std::vector<ckpt::ParameterMeta>& parameters;
  const std::vector<std::string>& names;  ///< name of each in the optimizer
  bool newer = false;                     ///< trained by torchtitan 0.3.0, whose scheduler stores no rates
};
/// Checks last_epoch = step, base LR = optimizer.lr, stored LR = lr(step + 1) to 1e-12 relative, that Adam's step of
/// each parameter equals step, and that the optimizer's settings are those of `config`. Titan's token count is that of
/// one rank, which torchtitan stores, times the number of data-parallel ranks.
/// \error kIncompatible naming both values; kCorrupt
ckpt::Result<ResumedRun> check_resume(const DcpReader& source, const TrainedParameters& trained,
                                      const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config);

/// Like check_resume(), for a program without torchtitan's train state: the step number is taken from Adam's `step`
/// state. `optimizer` is the prefix before "state." and "param_groups." in names ("optimizer."). The stored rate may be
/// that of the last step or of the next. Tokens are train_state.tokens if stored (in Titan's exports), else computed
/// from the configuration's batches. `our_name` maps a parameter's name in the optimizer to Titan's. `notes` gets the
/// values that are taken from the configuration and cannot be compared. \error kIncompatible naming both values, or
/// what the configuration lacks; kCorrupt
ckpt::Result<ResumedRun> check_plain_resume(const DcpReader& source, const std::string& optimizer,
                                            const std::function<std::string(const std::string&)>& our_name,
                                            const std::vector<ckpt::ParameterMeta>& parameters,
                                            const std::vector<std::uint64_t>& optimizer_steps,
                                            const recipe::Config& config, std::vector<std::string>& notes);

}  // namespace titan::convert::dcp
