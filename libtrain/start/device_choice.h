#pragma once
// Where a run computes: what training.device means on this host. Pure.
#include <string>

#include "libtrain/start/gpu_checks.h"

namespace titan::train {

enum class DeviceKind { kCpu, kCuda };

struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;
  std::string note;  ///< for people: why it is not what they may expect; may be empty
};

/// `word`: training.device. "auto" is the CPU until a run has been seen on a GPU.
DeviceChoice choose_device(const std::string& word, bool has_driver);

}  // namespace titan::train
