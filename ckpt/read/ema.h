#pragma once
// The exponential average of the parameters that a run may keep: a slot of each parameter beside Adam's moments.
// \source FORMAT.md, "Terms"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

inline constexpr const char* kEma = "ema";  ///< the slot

/// Whether every parameter has an average.
bool has_ema(const Manifest& manifest);

/// `reader` with the averages in place of the parameters, and nothing else but the files that came with the model; the
/// id is that of a checkpoint of these parameters alone.
/// \error kIncompatible: it has no averages, or is a checkpoint of another format
Result<CheckpointReader> averages_of(Fs& fs, CheckpointReader reader);

}  // namespace titan::ckpt
