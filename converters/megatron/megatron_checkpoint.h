#pragma once
// A step of Megatron-Core in its format torch_dist: a DCP directory with the run's arguments, in which each tensor may
// hold all layers, and projections are fused.
#include <string>

#include "converters/format.h"

namespace titan::convert::megatron {

/// The folder of the step: `path` itself, or the step in it that latest_checkpointed_iteration.txt names; empty if
/// neither is a step. \error kMediaError, kFailed
Result<std::string> find_iteration(Fs& fs, const std::string& path);

/// The format "megatron" (read only); never destroyed.
const Format& megatron_format();

}  // namespace titan::convert::megatron
