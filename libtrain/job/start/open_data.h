#pragma once
// The data of a start: texts become tokens, files are opened, and a mixture says where it ends.
#include "libtrain/job/start/prepare.h"

namespace titan::train {

/// Opens the dataset at its own beginning. A complete run does without one: the checkpoint's position stands for it.
/// \error as Dataset::open, find_text_cache and make_text_cache
Status open_data(const StartInputs& inputs, Start& start);

/// Where the sets of a mixture end before the run does, it stops behind the last step that they fill. \error kInvalid:
/// that is no step more
Status end_with_data(Start& start);

}  // namespace titan::train
