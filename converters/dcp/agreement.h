#pragma once
// A configuration named beside a checkpoint that knows its own settings: what both say must agree.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::convert::dcp {

/// Compares the optimizer's settings, by value, where both the checkpoint (`own`) and the configuration (`given`) say
/// them, and the learning rate's `curve` with the one that `given`, filled with torchtitan's defaults, makes where it
/// says anything of it; the curve only where it is not to be replaced (`with_curve`). `what` names the checkpoint.
/// \error kIncompatible naming every key that differs with both values; kInvalid (read_torchtitan)
ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve,
                             const ckpt::Settings& given, bool with_curve);

}  // namespace titan::convert::dcp
