#include "libtrain/start/device_choice.h"

namespace titan::train {

DeviceChoice choose_device(const std::string& word, bool has_driver) {
  if (word == "cuda") return {DeviceKind::kCuda, ""};
  if (word != "auto" || !has_driver) return {DeviceKind::kCpu, ""};
  return {DeviceKind::kCpu,
          "there is an NVIDIA driver, and this run computes on the CPU: training on GPUs is built and tested on a "
          "simulated device, not yet run on a GPU; --training.device=cuda takes it, --training.device=cpu leaves this "
          "line out"};
}

}  // namespace titan::train
