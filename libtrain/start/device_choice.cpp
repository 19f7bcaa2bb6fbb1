#include "libtrain/start/device_choice.h"

namespace titan::train {

DeviceChoice choose_device(const std::string& word, bool has_driver) {
  if (word == "cuda") return {DeviceKind::kCuda, ""};
  if (word != "auto" || !has_driver) return {DeviceKind::kCpu, ""};
  return {DeviceKind::kCpu,
          "there is an NVIDIA driver, but training on GPUs is not supported yet: it computes on the CPU "
          "(--training.device=cpu leaves this line out)"};
}

}  // namespace titan::train
