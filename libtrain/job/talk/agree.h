#pragma once
// All ranks learn whether one of them failed. While all is well this is a sum of one number; texts travel only after a
// failure.
#include <optional>

#include "ckpt/base/result.h"

namespace titan::train {

class Control;

/// All ranks learn the first failure of any of them: returns ok on every rank, or on every rank the status of the
/// lowest rank that failed (its message names that rank when it is another one).
ckpt::Status agree(Control& all, const ckpt::Status& mine);

/// The lowest rank whose `mine` is true, on every rank; nothing when there is none.
std::optional<int> first_rank(Control& all, bool mine);

}  // namespace titan::train
