#pragma once
// Decides between CPU and GPUs for the ranks of this host (training.device), and checks that its GPUs can run them.
#include <optional>

#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"

namespace titan::recipe {
struct Config;
}

namespace titan::cli {

/// The device of a run on this host.
struct SettledDevice {
  std::optional<train::CudaModule> module;  ///< the loaded libtitan_cuda.so; empty: the run computes on the CPU
  train::GpuFacts found;                    ///< what the module found on this host
  std::string note;                         ///< a message to print once; may be empty
};

/// If the run would compute on GPUs, loads libtitan_cuda.so, checks the GPUs, and sets `config.training.device` to
/// "cuda". `local_ranks`: number of ranks on this host. `bound`: a launcher may have given each rank its own GPU, so
/// that this process sees only one. \error as train::CudaModule::open, train::check_gpus and train::attention_kernel
ckpt::Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks, bool bound = false);

/// For `plan`, whose run may later start on another host: sets `config.training.device` to "cuda" if this host has
/// usable GPUs. Ignores errors.
void foresee_device(recipe::Config& config);

/// Checks that this host can run `local_ranks` ranks on the configured device. \error as settle_device
ckpt::Status check_host(const recipe::Config& config, int local_ranks);

}  // namespace titan::cli
