#pragma once
// The exponential moving average (EMA) of the parameters, which a run may keep as an optimizer slot of each parameter.
// \source FORMAT.md, "Terms"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

inline constexpr const char* kEma = "ema";  ///< name of the slot

/// Whether every parameter has an EMA.
bool has_ema(const Manifest& manifest);

/// A reader of the checkpoint of `reader` with the averages in place of the parameters. It has no other component, but
/// still the files that came with the model. Its id is that of a checkpoint with only these parameters.
/// \error kIncompatible: the checkpoint has no averages, or is of another format
Result<CheckpointReader> averages_of(Fs& fs, CheckpointReader reader);

}  // namespace titan::ckpt
