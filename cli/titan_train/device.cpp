#include "cli/titan_train/device.h"

#include "libtrain/model/runtime.h"
#include "libtrain/start/cuda_module.h"

namespace titan::cli {

ckpt::Result<train::DeviceChoice> settle_device(const recipe::Config& config, int local_ranks) {
  const std::string& word = config.training.device;
  if (word == "cpu") return train::DeviceChoice{};
  const train::DeviceChoice choice = train::choose_device(word, train::has_nvidia_driver());
  if (choice.kind == train::DeviceKind::kCpu) return choice;
  TITAN_ASSIGN_OR_RETURN(const train::CudaModule module,
                         train::CudaModule::open(train::cuda_module_path(), train::torch_version()));
  TITAN_RETURN_IF_ERROR(train::check_gpus(module.probe(), local_ranks));
  return ckpt::unsupported("training.device = \"" + word + "\": training on GPUs is not supported yet")
      .with_hint("to compute on the CPU: --training.device=cpu");
}

}  // namespace titan::cli
