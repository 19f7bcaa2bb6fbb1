#pragma once
// Ranks compute on devices alike, each on one of its own.
#include "libtrain/job/talk/control.h"

namespace titan::train {

/// Compares what the ranks compute on: CPUs, or GPUs of one model with the same kernels and libraries. Drivers that
/// differ are warned of. \error throws StatusError, the same on all ranks: kInvalid, kIncompatible
void check_devices(Control& all);

}  // namespace titan::train
