#include "libtrain/job/host/device_choice.h"

namespace titan::train {
namespace {

DeviceChoice cpu_because(const std::string& why) {
  return {DeviceKind::kCpu, "there is an NVIDIA driver, and this run computes on the CPU: " + why +
                                "; --training.device=cpu leaves this line out"};
}

}  // namespace

DeviceChoice choose_device(const std::string& word, const HostFacts& host) {
  if (word == "cuda") return {DeviceKind::kCuda, ""};
  if (word != "auto" || !host.driver || host.hidden) return {DeviceKind::kCpu, ""};
  if (host.module) return {DeviceKind::kCuda, ""};
  return cpu_because("this titan-train was built without CUDA (scripts/bootstrap --cuda, then build again)");
}

DeviceChoice confirm_device(const std::string& word, const GpuFacts& found) {
  if (word != "auto" || !found.gpus.empty() || !driver_serves(found)) return {DeviceKind::kCuda, ""};
  return cpu_because("the driver shows no GPU" + (found.no_gpu_reason.empty() ? "" : " (" + found.no_gpu_reason + ")"));
}

}  // namespace titan::train
