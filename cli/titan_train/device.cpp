#include "cli/titan_train/device.h"

#include <cstdlib>

#include "libtrain/model/runtime.h"
#include "libtrain/start/attention_choice.h"
#include "libtrain/start/device_choice.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

train::HostFacts look_at_host(const std::string& word) {
  if (word != "auto") return {};
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return {.driver = train::has_nvidia_driver(),
          .hidden = visible != nullptr && (*visible == '\0' || *visible == '-'),
          .module = train::has_cuda_module()};
}

Result<SettledDevice> find_device(const std::string& word, train::GpuFacts& found) {
  const train::DeviceChoice first = train::choose_device(word, look_at_host(word));
  if (first.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, first.note};
  TITAN_ASSIGN_OR_RETURN(train::CudaModule module,
                         train::CudaModule::open(train::cuda_module_path(), train::torch_version()));
  found = module.probe();
  const train::DeviceChoice choice = train::confirm_device(word, found);
  if (choice.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, choice.note};
  return SettledDevice{std::move(module), ""};
}

}  // namespace

Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks) {
  const std::string word = config.training.device;
  const auto of_key = [&](Status status) {
    status.message = "training.device = \"" + word + "\": " + status.message;
    return status;
  };
  train::GpuFacts found;
  auto settled = find_device(word, found);
  if (!settled.ok()) return of_key(settled.status());
  if (!settled->module) return settled;
  if (const Status fit = train::check_gpus(found, local_ranks); !fit.ok()) return of_key(fit);
  config.training.device = "cuda";
  TITAN_RETURN_IF_ERROR(train::attention_kernel(config).status());
  return settled;
}

void foresee_device(recipe::Config& config) {
  train::GpuFacts found;
  if (const auto settled = find_device(config.training.device, found); settled.ok() && settled->module)
    config.training.device = "cuda";
}

}  // namespace titan::cli
