#pragma once
// Decides training.device on this host: whether its GPUs can run the ranks of this host.
#include <optional>

#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

struct SettledDevice {
  std::optional<train::CudaModule> module;  ///< the CUDA module; none: the run computes on the CPU
  train::GpuFacts found;                    ///< what the module found on this host
  std::string note;                         ///< a message to print once; may be empty
};

/// If the run would compute on GPUs, opens libtitan_cuda.so, checks the GPUs, and sets `config.training.device` to
/// "cuda". `bound`: each rank may see only its own GPU. \error kInvalid: as train::CudaModule::open, train::check_gpus
/// and train::attention_kernel
ckpt::Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks, bool bound = false);

/// For a run that is only planned, perhaps for another host: sets `config.training.device` to "cuda" if this host has
/// GPUs. Reports no errors.
void foresee_device(recipe::Config& config);

/// Whether this host has the run's device. \error as settle_device
ckpt::Status check_host(const recipe::Config& config, int local_ranks);

}  // namespace titan::cli
