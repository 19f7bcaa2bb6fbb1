#pragma once
// Tells all ranks whether one of them failed. Without a failure this costs a sum of one number; texts are sent only
// after a failure.
#include <optional>

#include "ckpt/base/result.h"

namespace titan::train {

class Control;

/// Returns on every rank ok if no rank failed, else the status of the lowest rank that failed. On other ranks its
/// message names that rank.
ckpt::Status agree(Control& all, const ckpt::Status& mine);

/// Returns on every rank the lowest rank whose `mine` is true; nothing if there is none.
std::optional<int> first_rank(Control& all, bool mine);

}  // namespace titan::train
