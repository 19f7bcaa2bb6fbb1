// A module in the place of libtitan_cuda.so (TITAN_CUDA_MODULE) on a host without GPUs: its device is the CPU under
// another name, its fabrics are Gloo's. So titan-train takes the whole way of training.device = cuda. What it finds,
// and what goes wrong, the environment says:
//   TITAN_FAKE_TORCH=VERSION        the LibTorch that it was built with
//   TITAN_FAKE_DRIVER=13000         CUDA version of the driver; 0: there is none
//   TITAN_FAKE_GPUS=NAME,NAME       the GPUs of this host
//   TITAN_FAKE_GPU_OF_RANK=NAME/.   ranks' GPUs are called by this name with their local rank, as those of other hosts
//   TITAN_FAKE_FAULT=device|nccl    making the device fails, connecting the ranks fails
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

#include <torch/headeronly/version.h>

#include "libtrain/engine/device/cpu/cpu_device.h"
#include "libtrain/engine/parallel/device_module.h"
#include "libtrain/job/host/gpu_checks.h"

#define TITAN_DOOR extern "C" __attribute__((visibility("default")))

namespace titan::train {
namespace {

std::string word(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class NamedCpu : public CpuDevice {
 public:
  explicit NamedCpu(DeviceSettings settings) : settings_(std::move(settings)) {}
  std::string name() const override {
    const std::string shared = word("TITAN_FAKE_GPU_OF_RANK", "");
    return shared.empty() ? "Fake GPU" : shared + std::to_string(settings_.index);
  }
  ckpt::Settings environment() const override {
    ckpt::Settings rows = {{"attention", settings_.attention}};
    if (!settings_.deterministic) rows.emplace_back("deterministic", "false");
    rows.emplace_back("device", name());
    return rows;
  }

 private:
  DeviceSettings settings_;
};

class FakeModule : public DeviceModule {
 public:
  std::unique_ptr<Device> make_device(const DeviceSettings& settings) override {
    if (word("TITAN_FAKE_FAULT", "") == "device") throw std::runtime_error("CUDA error: device is busy\nand more");
    return std::make_unique<NamedCpu>(settings);
  }
  std::unique_ptr<Fabric> make_fabric(const FabricRequest& request) override {
    if (word("TITAN_FAKE_FAULT", "") == "nccl")
      throw CommError(nccl_failure("group " + request.name, request.global_rank, "unhandled system error"));
    request.check_peers();
    return request.gloo();
  }
};

}  // namespace
}  // namespace titan::train

TITAN_DOOR const char* titan_cuda_torch_version() {
  static const std::string version = titan::train::word("TITAN_FAKE_TORCH", TORCH_VERSION);
  return version.c_str();
}

TITAN_DOOR const char* titan_cuda_interface() {
  static const std::string digest = titan::train::word("TITAN_FAKE_INTERFACE", TITAN_INTERFACE);
  return digest.c_str();
}

TITAN_DOOR void titan_cuda_probe(titan::train::GpuFacts* facts) {
  facts->torch = TORCH_VERSION;
  facts->runtime = 13000;
  facts->driver = std::atoi(titan::train::word("TITAN_FAKE_DRIVER", "13000").c_str());
  std::istringstream names(titan::train::word("TITAN_FAKE_GPUS", "Fake GPU,Fake GPU"));
  for (std::string name; std::getline(names, name, ',');) facts->gpus.push_back({name, 80ull << 30, 9, 0});
}

TITAN_DOOR titan::train::DeviceModule* titan_cuda_module() {
  static titan::train::FakeModule module;
  return &module;
}
