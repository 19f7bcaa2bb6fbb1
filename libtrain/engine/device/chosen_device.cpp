#include "libtrain/engine/device/cpu/cpu_device.h"
#include "libtrain/engine/device/device.h"

#include <atomic>

namespace titan::train {
namespace {

std::atomic<Device*> chosen_device{nullptr};

}  // namespace

Device& device() {
  static CpuDevice cpu;
  Device* const chosen = chosen_device.load(std::memory_order_relaxed);
  return chosen == nullptr ? cpu : *chosen;
}

Kernels& kernels() { return device().kernels(); }

void use_device(Device* chosen) { chosen_device.store(chosen, std::memory_order_relaxed); }

}  // namespace titan::train
