#include "libtrain/engine/cuda/gpu_probe.h"

#include <cuda_runtime_api.h>
#include <torch/headeronly/version.h>

namespace titan::train {

GpuFacts probe_gpus() {
  GpuFacts facts;
  facts.torch = TORCH_VERSION;
  // 0 without a driver. Errors stay in CUDA's own error state, which nothing reads here.
  if (cudaRuntimeGetVersion(&facts.runtime) != cudaSuccess) facts.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&facts.driver) != cudaSuccess) facts.driver = 0;
  if (facts.driver == 0) return facts;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    facts.no_gpu_since = cudaGetErrorString(error);
    (void)cudaGetLastError();
    return facts;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      facts.no_gpu_since = cudaGetErrorString(error);
      break;
    }
    facts.gpus.push_back({properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  return facts;
}

}  // namespace titan::train
