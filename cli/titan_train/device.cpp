#include "cli/titan_train/device.h"

#include "libtrain/model/runtime.h"
#include "libtrain/start/attention_choice.h"
#include "libtrain/start/device_choice.h"

namespace titan::cli {
namespace {

std::string note_of(const recipe::Config& config) {
  std::string note = "training on GPUs is built and tested on a simulated device, not yet run on a GPU";
  if (!config.debug.deterministic)
    note += "; debug.deterministic = false gives up that the same run, a resume and another layout have the same bits";
  return note;
}

}  // namespace

ckpt::Result<SettledDevice> settle_device(const recipe::Config& config, int local_ranks) {
  const std::string& word = config.training.device;
  if (word == "cpu") return SettledDevice{};
  const train::DeviceChoice choice = train::choose_device(word, train::has_nvidia_driver());
  if (choice.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, choice.note};
  TITAN_ASSIGN_OR_RETURN(train::CudaModule module,
                         train::CudaModule::open(train::cuda_module_path(), train::torch_version()));
  TITAN_RETURN_IF_ERROR(train::check_gpus(module.probe(), local_ranks));
  TITAN_RETURN_IF_ERROR(train::attention_kernel(config).status());
  return SettledDevice{std::move(module), note_of(config)};
}

}  // namespace titan::cli
