#pragma once
// Checks that a given configuration agrees with a checkpoint that has settings of its own.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::convert::dcp {

/// Compares by value the settings of the optimizer that both the checkpoint (`own`) and the configuration (`given`)
/// name. With `with_curve` (the curve is not replaced) it also compares the learning rate's `curve` with that of
/// `given`, if `given` says anything of it; torchtitan's defaults fill in the rest. `what` names the checkpoint.
/// \error kIncompatible naming every key that differs with both values; kInvalid (read_torchtitan)
ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve,
                             const ckpt::Settings& given, bool with_curve);

}  // namespace titan::convert::dcp
