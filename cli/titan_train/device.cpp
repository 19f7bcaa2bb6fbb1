#include "cli/titan_train/device.h"

#include "libtrain/model/runtime.h"
#include "libtrain/start/device_choice.h"

namespace titan::cli {
ckpt::Result<SettledDevice> settle_device(const recipe::Config& config, int local_ranks) {
  const std::string& word = config.training.device;
  if (word == "cpu") return SettledDevice{};
  const train::DeviceChoice choice = train::choose_device(word, train::has_nvidia_driver());
  if (choice.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, choice.note};
  TITAN_ASSIGN_OR_RETURN(train::CudaModule module,
                         train::CudaModule::open(train::cuda_module_path(), train::torch_version()));
  TITAN_RETURN_IF_ERROR(train::check_gpus(module.probe(), local_ranks));
  return SettledDevice{std::move(module),
                       "training on GPUs is built and tested on a simulated device, not yet run on a GPU"};
}

}  // namespace titan::cli
