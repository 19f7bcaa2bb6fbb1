#pragma once
// torch.distributed.checkpoint directories in torchtitan's layout.
#include "converters/format.h"

namespace titan::convert {

const Format& dcp_format();

}  // namespace titan::convert
