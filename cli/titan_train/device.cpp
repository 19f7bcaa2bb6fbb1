#include "cli/titan_train/device.h"

#include <cstdlib>

#include "cli/titan_train/engine.h"
#include "libtrain/job/host/attention_choice.h"
#include "libtrain/job/host/device_choice.h"
#include "libtrain/job/host/gpu_checks.h"
#include "recipe/keys/config.h"

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

Result<SettledDevice> find_device(const std::string& word) {
  const train::DeviceChoice first = train::choose_device(word, look_at_host(word));
  if (first.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, {}, first.note};
  TITAN_ASSIGN_OR_RETURN(train::CudaModule module, train::CudaModule::open(train::cuda_module_path(), torch_version()));
  const train::GpuFacts found = module.probe();
  const train::DeviceChoice choice = train::confirm_device(word, found);
  if (choice.kind == train::DeviceKind::kCpu) return SettledDevice{std::nullopt, {}, choice.note};
  return SettledDevice{std::move(module), found, ""};
}

}  // namespace

Result<SettledDevice> settle_device(recipe::Config& config, int local_ranks, bool bound) {
  const std::string word = config.training.device;
  const auto of_key = [&](Status status) {
    status.message = "training.device = \"" + word + "\": " + status.message;
    return status;
  };
  auto settled = find_device(word);
  if (!settled.ok()) return of_key(settled.status());
  if (!settled->module) return settled;
  const int ranks = (bound || train::gpu_is_shared()) && settled->found.gpus.size() == 1 ? 1 : local_ranks;
  if (const Status fit = train::check_gpus(settled->found, ranks); !fit.ok()) return of_key(fit);
  config.training.device = "cuda";
  TITAN_RETURN_IF_ERROR(train::attention_kernel(config).status());
  return settled;
}

void foresee_device(recipe::Config& config) {
  if (const auto settled = find_device(config.training.device); settled.ok() && settled->module)
    config.training.device = "cuda";
}

Status check_host(const recipe::Config& config, int local_ranks) {
  recipe::Config here = config;
  return settle_device(here, local_ranks).status();
}

}  // namespace titan::cli
