#pragma once
// Where a run computes: what training.device means on this host. Pure.
#include <string>

#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

enum class DeviceKind { kCpu, kCuda };

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;
  std::string note;  ///< for people: why it is not what they may expect; may be empty
};

/// What costs nothing to see.
struct HostFacts {
  bool driver = false;  ///< libcuda.so.1 is there
  bool hidden = false;  ///< CUDA_VISIBLE_DEVICES names no GPU, on purpose
  bool module = false;  ///< libtitan_cuda.so is there
};

/// `word`: training.device. "auto" means GPUs where there is a driver, and the module that can use it.
DeviceChoice choose_device(const std::string& word, const HostFacts& host);

/// Whether that stands once the module has looked. "auto" means the CPU where a driver that would do shows no GPU; what
/// check_gpus() refuses else is refused.
DeviceChoice confirm_device(const std::string& word, const GpuFacts& found);

}  // namespace titan::train
