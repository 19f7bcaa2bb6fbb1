#pragma once
// The step of a DCP directory.
#include <cstdint>
#include <optional>

#include "ckpt/base/result.h"
#include "converters/dcp/reader.h"

namespace titan::convert::dcp {

/// The step in train_state; for a checkpoint of the model alone, the step in the name of its folder or of the folder
/// above. Nothing if there is none. \error kCorrupt, kFailed
ckpt::Result<std::optional<std::uint64_t>> stored_step(const DcpReader& source);

}  // namespace titan::convert::dcp
