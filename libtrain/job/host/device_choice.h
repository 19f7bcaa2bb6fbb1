#pragma once
// Whether a run computes on CPU or GPUs: the meaning of training.device on this host. Pure.
#include <string>

#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

enum class DeviceKind { kCpu, kCuda };

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;
  std::string note;  ///< a message if the choice may surprise the user; else empty
};

/// Host facts that are cheap to find out.
struct HostFacts {
  bool driver = false;  ///< libcuda.so.1 exists
  bool hidden = false;  ///< CUDA_VISIBLE_DEVICES is set and names no GPU
  bool module = false;  ///< libtitan_cuda.so exists
};

/// `word` is training.device. "auto" means GPUs if there are a driver and the module, and GPUs are not `hidden`.
DeviceChoice choose_device(const std::string& word, const HostFacts& host);

/// The final choice after the module has looked for GPUs: "auto" means the CPU if a suitable driver shows no GPU. All
/// other problems are left to check_gpus().
DeviceChoice confirm_device(const std::string& word, const GpuFacts& found);

}  // namespace titan::train
