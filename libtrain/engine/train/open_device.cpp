#include "libtrain/engine/train/open_device.h"

#include <cstdlib>
#include <exception>

#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/parallel/device_module.h"
#include "libtrain/job/host/attention_choice.h"
#include "libtrain/job/host/gpu_checks.h"
#include "libtrain/job/launch/library_error.h"
#include "recipe/keys/config.h"

namespace titan::train {

using ckpt::Status;

Status open_device(const CudaModule& module, const recipe::Config& config, int index, int threads) {
  DeviceSettings settings{.index = index, .deterministic = config.debug.deterministic};
  TITAN_ASSIGN_OR_RETURN(settings.attention, attention_kernel(config));
  if (settings.deterministic) TITAN_RETURN_IF_ERROR(check_workspace(std::getenv("CUBLAS_WORKSPACE_CONFIG")));
  const auto entry = reinterpret_cast<DeviceModule* (*)()>(module.find(kDeviceModuleEntry));
  if (entry == nullptr)
    return ckpt::invalid("libtitan_cuda.so is older than titan-train: it makes no device")
        .with_hint("build both together: cmake --build build");
  // First the switches of the host: make_device() changes some of them for the GPU.
  setup_determinism(threads);
  DeviceModule* const maker = entry();
  try {
    use_device(maker->make_device(settings).release());  // never destroyed, so it outlives all tensors
  } catch (const std::exception& error) {
    return library_failure("GPU " + std::to_string(index) + " of this host cannot be used", error.what())
        .with_hint("look at nvidia-smi: is another process on it?");
  }
  use_fabrics([maker](const FabricRequest& request) { return maker->make_fabric(request); });
  return ckpt::ok_status();
}

}  // namespace titan::train
