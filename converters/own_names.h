#pragma once
// Tensors of foreign checkpoints under the names that they have there.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/read/reader.h"

namespace titan::convert {

/// open_any for listing the tensors whose names match `glob`: where it matches none of our names and some of the
/// foreign format's, the checkpoint is those tensors alone, as they are stored there. \error as open_any
ckpt::Result<ckpt::CheckpointReader> open_for_pattern(ckpt::Fs& fs, const std::string& path, const std::string& glob);

}  // namespace titan::convert
