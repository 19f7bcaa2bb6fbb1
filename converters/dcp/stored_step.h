#pragma once
// The step of a DCP directory.
#include <cstdint>
#include <optional>

#include "ckpt/base/result.h"
#include "converters/dcp/reader.h"

namespace titan::convert::dcp {

/// The step in train_state; a checkpoint of the model alone has it in the name of its folder only, or of the one above.
/// Nothing where neither says it. \error kCorrupt, kFailed
ckpt::Result<std::optional<std::uint64_t>> stored_step(const DcpReader& source);

}  // namespace titan::convert::dcp
