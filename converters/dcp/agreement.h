#pragma once
// Checks that a given configuration agrees with the settings stored in a checkpoint.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::convert::dcp {

/// Compares the optimizer settings that both the checkpoint (`own`) and the configuration (`given`) name, by value.
/// With `with_curve` (the LR schedule is kept) it also compares the checkpoint's LR schedule `curve` with that of
/// `given`, if `given` has any LR setting; LR settings that `given` lacks have torchtitan's defaults. `what` names the
/// checkpoint.
/// \error kIncompatible naming every key that differs with both values; kInvalid (read_torchtitan)
ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve,
                             const ckpt::Settings& given, bool with_curve);

}  // namespace titan::convert::dcp
