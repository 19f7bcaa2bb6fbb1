#pragma once
// training.device on this host: whether its GPUs can carry the ranks that would run here.
#include <optional>

#include "ckpt/base/result.h"
#include "libtrain/start/cuda_module.h"
#include "recipe/keys/config.h"

namespace titan::cli {

struct SettledDevice {
  std::optional<train::CudaModule> module;  ///< of GPUs; none: the run computes on the CPU
  std::string note;                         ///< for people, once; may be empty
};

/// Opens libtitan_cuda.so where the run would compute on GPUs, and asks it about them; `config.training.device` is
/// "cuda" then. \error kInvalid: as train::CudaModule::open, train::check_gpus and train::attention_kernel
ckpt::Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks);

/// The same for a run that is only planned: no number of ranks, and nothing that is wrong with GPUs, is an error.
void foresee_device(recipe::Config& config);

}  // namespace titan::cli
