#pragma once
// Checks that a given configuration agrees with the settings stored in a checkpoint.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::convert::dcp {

/// Compares the optimizer settings of the checkpoint (`own`) with those of the configuration (`given`). A setting is
/// compared, by value, if both have it. With `with_curve` (the LR schedule is kept), the checkpoint's LR schedule
/// `curve` is compared, too, if `given` has any LR setting; LR settings that `given` lacks have torchtitan's defaults.
/// Two schedules agree if they have the same last step and the same phases up to it. `what` names the checkpoint in
/// messages.
/// \error kIncompatible naming every key that differs, with both values; kInvalid (read_torchtitan)
ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve,
                             const ckpt::Settings& given, bool with_curve);

}  // namespace titan::convert::dcp
