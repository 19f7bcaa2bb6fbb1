#pragma once
// A Hugging Face folder in which a trainer also keeps its optimizer: with the run's configuration it goes on.
#include "converters/format.h"

namespace titan::convert {

/// What open_hf opens at `path`; where that is a folder with the optimizer's state of a trainer,
/// both. A state that cannot be read is left behind with a note, and refused where a configuration of a run is given.
Result<std::unique_ptr<ForeignCheckpoint>> open_hf_with_state(Fs& fs, const std::string& path);

}  // namespace titan::convert
