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
/// Checks that the values which torchtitan stored agree with `config`; numbers compare as is_number_of() does:
/// - last_epoch of the LR scheduler and Adam's step of each parameter are the step in train_state
/// - the base rate is optimizer.lr, and the stored rate is lr(step + 1); optimizer.rules may multiply both
/// - the settings of each param group are those of `config`
/// Titan's token count is torchtitan's, which counts one rank only, times ResumedRun::world: dataloader.world_size if
/// it is stored, else the number of data-parallel ranks of `config`.
/// \error kIncompatible: two values differ (the message names both), or one is missing; kCorrupt
ckpt::Result<ResumedRun> check_resume(const DcpReader& source, const TrainedParameters& trained,
                                      const std::vector<std::uint64_t>& optimizer_steps, const recipe::Config& config);

/// Like check_resume(), for a program without torchtitan's train state:
/// - The step is Adam's `step` state, which must be the same for all parameters. If train_state.step is stored, it must
///   agree.
/// - The stored rate may be that of the last step or of the next.
/// - Tokens are train_state.tokens if it is stored (in Titan's exports), else steps x batch x sequence length of the
///   configuration.
/// `optimizer` is the prefix before "state." and "param_groups." in names ("optimizer."). `our_name` maps a parameter's
/// name in the optimizer to Titan's. `notes` gets what is taken from the configuration and cannot be compared, and
/// rules that match no parameter. \error kIncompatible: two values differ (the message names both), or the
/// configuration lacks one; kCorrupt
ckpt::Result<ResumedRun> check_plain_resume(const DcpReader& source, const std::string& optimizer,
                                            const std::function<std::string(const std::string&)>& our_name,
                                            const std::vector<ckpt::ParameterMeta>& parameters,
                                            const std::vector<std::uint64_t>& optimizer_steps,
                                            const recipe::Config& config, std::vector<std::string>& notes);

}  // namespace titan::convert::dcp
