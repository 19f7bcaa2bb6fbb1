#pragma once
// Tells all ranks whether one of them failed: for starts and other work between steps. (A stop during steps is agreed
// in the sum of each step, libtrain/engine/train/step_row.h.) If no rank failed, agree() costs one all-reduce of one
// number; error texts are sent only after a failure.
#include <optional>

#include "ckpt/base/result.h"

namespace titan::train {

class Control;

/// Collective. Returns ok on every rank if `mine` is ok on all of them, else the status of the lowest rank that failed.
/// On the other ranks the message of that status ends with the number of the failed rank.
ckpt::Status agree(Control& all, const ckpt::Status& mine);

/// Collective. Returns on every rank the lowest rank whose `mine` is true; nullopt if there is none.
std::optional<int> first_rank(Control& all, bool mine);

}  // namespace titan::train
