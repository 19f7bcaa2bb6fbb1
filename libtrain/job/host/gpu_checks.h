#pragma once
// Checks whether a run can use the GPUs of a host, and of all ranks together. The facts come from the CUDA module
// (libtitan_cuda.so).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::train {

struct Gpu {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0;  ///< compute capability
};

/// What the CUDA module finds on this host.
struct GpuFacts {
  std::string torch;          ///< the LibTorch that the module was built with
  int driver = 0;             ///< CUDA version supported by the driver, as CUDA encodes it: 13000; 0: no driver
  int runtime = 0;            ///< CUDA version of LibTorch
  std::vector<Gpu> gpus;      ///< GPUs that this process may use
  std::string no_gpu_reason;  ///< CUDA's error if there is no GPU
};

/// Whether there is a driver that is new enough for LibTorch. A driver supports every runtime of its own major version.
bool driver_serves(const GpuFacts& facts);

/// Whether `local_ranks` ranks can each have a GPU of this host. \error kInvalid: no driver, a driver that is too old,
/// no GPU, too few GPUs, GPUs of several models, or a GPU that is too old for this trainer's attention
ckpt::Status check_gpus(const GpuFacts& facts, int local_ranks);

/// Checks that the module was built for this program. `torch`: the program's LibTorch version. \error kInvalid
ckpt::Status check_module(const GpuFacts& facts, const std::string& torch);

/// Checks that all ranks have GPUs of one model, since results of different models differ in bits. `models`: the name
/// of each rank's GPU. \error kInvalid, listing the ranks of each model
ckpt::Status check_one_model(const std::vector<std::string>& models);

/// A warning with the driver versions by rank if they differ; else empty.
std::string drivers_differ(const std::vector<std::string>& drivers);

/// Whether each rank has a GPU of its own. `units`: Device::unit() of each rank. \error kInvalid: lists the ranks that
/// share a GPU
ckpt::Status check_own_gpus(const std::vector<std::string>& units);

/// Checks that cuBLAS is deterministic with this CUBLAS_WORKSPACE_CONFIG (null: not set), as debug.deterministic needs.
/// LibTorch refuses other values at the first product. \error kInvalid
ckpt::Status check_workspace(const char* given);

/// Whether TITAN_SHARE_GPU is set: all ranks of this host use one GPU, to test NCCL on a host that has only one.
bool gpu_is_shared();

/// Index of this rank's GPU among those that it sees: 0 if a batch system shows each task only its own GPU.
int gpu_of_rank(const GpuFacts& facts, int local_rank);

/// The error of a rank whose NCCL communicator cannot be made. `group`: "data-parallel group of stage 3".
ckpt::Status nccl_failure(const std::string& group, int rank, const std::string& what);

/// The driver's version, like "580.65.06", from the first line of /proc/driver/nvidia/version. Empty if the line has
/// none.
std::string driver_version(std::string_view line);

/// A CUDA version as text: "13.0" for 13000.
std::string cuda_version(int number);

}  // namespace titan::train
