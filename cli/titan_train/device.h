#pragma once
// training.device on this host: whether its GPUs can carry the ranks that would run here.
#include <optional>

#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"
#include "recipe/keys/config.h"

namespace titan::cli {

struct SettledDevice {
  std::optional<train::CudaModule> module;  ///< of GPUs; none: the run computes on the CPU
  train::GpuFacts found;                    ///< what it says of this host
  std::string note;                         ///< for people, once; may be empty
};

/// Opens libtitan_cuda.so where the run would compute on GPUs, and asks it about them; `config.training.device` is
/// "cuda" then. `bound`: each rank may see one GPU alone, its own. \error kInvalid: as train::CudaModule::open,
/// train::check_gpus and train::attention_kernel
ckpt::Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks, bool bound = false);

/// The same for a run that is only planned, perhaps for another host: `config.training.device` is "cuda" where this one
/// has GPUs, and nothing is an error.
void foresee_device(recipe::Config& config);

/// Whether the run could have its device on this host. \error as settle_device
ckpt::Status check_host(const recipe::Config& config, int local_ranks);

}  // namespace titan::cli
