#pragma once
// Widens optimizer state and its weights to float32, the type that a resume loads.
#include "converters/format.h"

namespace titan::convert {

/// Marks every tensor of `plan` that float32 represents exactly (bfloat16, float16) as widened, and notes how many.
/// \error kIncompatible: there are tensors of other types
Status widen_state(const ForeignCheckpoint& source, ImportPlan& plan);

}  // namespace titan::convert
