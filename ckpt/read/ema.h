#pragma once
// The exponential average of the parameters that a run may keep: a slot of each parameter, next to Adam's moments.
// \source FORMAT.md, "Terms"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

inline constexpr const char* kEma = "ema";  ///< name of the slot

/// Whether every parameter has an average.
bool has_ema(const Manifest& manifest);

/// A reader of `reader`'s checkpoint with the averages in place of the parameters, and with no other component but the
/// files that came with the model. Its id is that of a checkpoint of these parameters alone.
/// \error kIncompatible: the checkpoint has no averages, or is of another format
Result<CheckpointReader> averages_of(Fs& fs, CheckpointReader reader);

}  // namespace titan::ckpt
