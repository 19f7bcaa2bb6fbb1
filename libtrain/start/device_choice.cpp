#include "libtrain/start/device_choice.h"

namespace titan::train {

DeviceChoice choose_device(const std::string& word, bool has_driver, bool has_module) {
  if (word == "cuda") return {DeviceKind::kCuda, ""};
  if (word != "auto" || !has_driver) return {DeviceKind::kCpu, ""};
  if (has_module) return {DeviceKind::kCuda, ""};
  return {DeviceKind::kCpu,
          "there is an NVIDIA driver, but this titan-train was built without CUDA: it computes on the CPU "
          "(--training.device=cpu leaves this line out)"};
}

}  // namespace titan::train
