// The entry points of libtitan_cuda.so, which titan-train and scripts/gpu-check look up by name after opening the
// module.
#include <cstdio>
#include <exception>
#include <string>

#include <cuda_runtime_api.h>
#include <torch/headeronly/version.h>

#include "libtrain/engine/cuda/cuda_device.h"
#include "libtrain/engine/cuda/gpu_switches.h"
#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/engine/cuda/nccl_fabric.h"
#include "libtrain/engine/cuda/self_test.h"
#include "libtrain/job/host/gpu_checks.h"
#include "libtrain/job/launch/library_error.h"

namespace titan::train {
namespace {

class CudaAndNccl : public DeviceModule {
 public:
  std::unique_ptr<Device> make_device(const DeviceSettings& settings) override {
    index_ = settings.index;
    return std::make_unique<CudaDevice>(settings);
  }
  std::unique_ptr<Fabric> make_fabric(const FabricRequest& request) override {
    set_wait_rules({request.check_peers, request.patience});
    return std::make_unique<NcclFabric>(request, index_);
  }

 private:
  int index_ = 0;
};

/// The GPUs of this host, as CUDA reports them. Never throws; a value that CUDA cannot report is left out. Creates no
/// CUDA context.
GpuFacts probe_gpus() {
  GpuFacts facts;
  facts.torch = TORCH_VERSION;
  // CUDA reports driver version 0 if there is no driver. The errors of these two calls need no other handling.
  if (cudaRuntimeGetVersion(&facts.runtime) != cudaSuccess) facts.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&facts.driver) != cudaSuccess) facts.driver = 0;
  if (facts.driver == 0) return facts;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    facts.no_gpu_reason = cudaGetErrorString(error);
    (void)cudaGetLastError();
    return facts;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      facts.no_gpu_reason = cudaGetErrorString(error);
      break;
    }
    facts.gpus.push_back({properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  return facts;
}

}  // namespace
}  // namespace titan::train

#define TITAN_DOOR extern "C" __attribute__((visibility("default")))

// Text that titan-train finds by reading the file: the LibTorch version of the module. A module for another LibTorch
// often cannot be opened.
extern "C" __attribute__((visibility("default"), used)) const char titan_cuda_module_mark[] =
    "titan-cuda-module of LibTorch " TORCH_VERSION;

// These two functions have plain C types, so that titan-train can call them first, even in a module of another build.
TITAN_DOOR const char* titan_cuda_torch_version() { return TORCH_VERSION; }
TITAN_DOOR const char* titan_cuda_interface() { return TITAN_INTERFACE; }

TITAN_DOOR void titan_cuda_probe(titan::train::GpuFacts* facts) {
  titan::train::set_variables();
  *facts = titan::train::probe_gpus();
}

TITAN_DOOR titan::train::DeviceModule* titan_cuda_module() {
  titan::train::set_variables();
  static titan::train::CudaAndNccl module;
  return &module;
}

/// Writes lines about the GPU, or why it cannot be used, into `text`. Returns whether the GPU can be used.
TITAN_DOOR bool titan_cuda_try(int device, char* text, std::size_t size) {
  std::string lines;
  bool works = true;
  titan::train::set_variables();
  try {
    lines = titan::train::try_gpu(device);
  } catch (const std::exception& error) {
    lines = titan::train::without_stack(error.what());
    works = false;
  }
  std::snprintf(text, size, "%s", lines.c_str());
  return works;
}
