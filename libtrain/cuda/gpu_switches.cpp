#include "libtrain/cuda/gpu_switches.h"

#include <cstdlib>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <torch/headeronly/version.h>

#include "libtrain/start/gpu_checks.h"

namespace titan::train {
namespace {

std::string cublas_version() {
  std::string text;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    if (cublasGetProperty(part, &number) != CUBLAS_STATUS_SUCCESS) return "unknown";
    text += (text.empty() ? "" : ".") + std::to_string(number);
  }
  return text;
}

std::string nccl_version() {
  int number = 0;
  if (ncclGetVersion(&number) != ncclSuccess) return "unknown";
  return std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
         std::to_string(number % 100);
}

std::string driver_version() {
  int number = 0;
  return cudaDriverGetVersion(&number) == cudaSuccess ? cuda_version(number) : "unknown";
}

}  // namespace

void set_gpu_switches(const DeviceSettings& settings) {
  // Read when cuBLAS is first used: a workspace of its own for each stream, so that none changes another's sums.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::Context& context = at::globalContext();
  // Flash then computes its backward in one order.
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowBF16ReductionCuBLAS(false, /*allow_splitk=*/false);
  context.setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL, at::Float32Precision::IEEE);
  context.setSDPUseFlash(settings.attention == "flash");
  context.setSDPUseCuDNN(false);
  context.setSDPUseMath(settings.attention == "math");
  context.setSDPUseMemEfficient(false);
}

ckpt::Settings gpu_rows(const DeviceSettings& settings) {
  return {{"attention", settings.attention},
          {"cublas", cublas_version()},
          {"cuda", cuda_version(CUDART_VERSION)},
          {"cudnn", std::to_string(at::detail::getCUDAHooks().versionCuDNN())},
          {"device", at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(settings.index))->name},
          {"driver", driver_version()},
          {"nccl", nccl_version()},
          {"torch", TORCH_VERSION}};
}

}  // namespace titan::train
