#pragma once
// training.device on this host: whether its GPUs can carry the ranks that would run here.
#include "ckpt/base/result.h"
#include "libtrain/start/device_choice.h"
#include "recipe/keys/config.h"

namespace titan::cli {

/// Opens libtitan_cuda.so where the run would compute on GPUs, and asks it about them. \error kInvalid: as
/// train::CudaModule::open and train::check_gpus
ckpt::Result<train::DeviceChoice> settle_device(const recipe::Config& config, int local_ranks);

}  // namespace titan::cli
