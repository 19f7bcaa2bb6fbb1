#pragma once
// Widens optimizer state and its weights to float32, the type that a resume loads.
#include "converters/format.h"

namespace titan::convert {

/// Marks every tensor of `plan` in bfloat16 or float16, which float32 represents exactly, as widened, and notes how
/// many. \error kIncompatible: there are tensors of other types than these and float32
Status widen_state(const ForeignCheckpoint& source, ImportPlan& plan);

}  // namespace titan::convert
