#pragma once
// Opens the data of a start: texts are turned into tokens, files are opened, and the end of a mixture is found.
#include "ckpt/base/status.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

struct Start;
struct StartInputs;

/// Opens the dataset at its beginning. Start::dataset says when there is none. If a complete run has none, the
/// checkpoint's position is used. \error as Dataset::open, find_text_cache and make_text_cache; kFailed: this host does
/// not see the tokens that rank 0 has made
ckpt::Status open_data(ckpt::Fs& fs, const StartInputs& inputs, Start& start);

/// If the sets of a mixture end before the run does, makes the run stop after the last step that has all samples.
/// \error kInvalid: not one more step has all samples
ckpt::Status end_with_data(Start& start);

}  // namespace titan::train
