#pragma once
// A step of Megatron-Core in its format torch_dist: a DCP directory with the run's arguments, all layers in one tensor,
// and fused projections.
#include <string>

#include "converters/format.h"

namespace titan::convert::megatron {

/// The folder of the step: `path` itself, or the newest step if `path` is a run folder; empty otherwise.
Result<std::string> find_iteration(Fs& fs, const std::string& path);

/// The format "megatron" (read only); never destroyed.
const Format& megatron_format();

}  // namespace titan::convert::megatron
