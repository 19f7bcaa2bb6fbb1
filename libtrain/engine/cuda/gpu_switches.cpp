#include "libtrain/engine/cuda/gpu_switches.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <torch/headeronly/version.h>

#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {
namespace {

constexpr const char *kWorkspace = "CUBLAS_WORKSPACE_CONFIG", *kOwnWorkspace = ":4096:8";

constexpr std::pair<const char*, const char*> kChoosing[] = {
    {"CUBLASLT_WORKSPACE_SIZE", "cublaslt_workspace"},
    {"DISABLE_ADDMM_CUDA_LT", "disable_addmm_cuda_lt"},
    {"NVIDIA_TF32_OVERRIDE", "nvidia_tf32_override"},
    {"PYTORCH_TUNABLEOP_ENABLED", "pytorch_tunableop_enabled"},
    {"TORCH_CUBLASLT_UNIFIED_WORKSPACE", "torch_cublaslt_unified_workspace"}};

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

/// The driver's version; if the host does not show it, the CUDA version that it supports.
std::string driver_row() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  if (std::string version = driver_version(line); !version.empty()) return version;
  int number = 0;
  return cudaDriverGetVersion(&number) == cudaSuccess ? "for CUDA " + cuda_version(number) : "unknown";
}

}  // namespace

void set_variables() {
  // 32 hardware queues, the maximum. Streams that share a queue wait for each other without need.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  // c10d's threads must neither end the process nor block the host: a dead rank is detected by its heartbeat, and a
  // CUDA error where the host waits; both end the run with a message. Kernel launches must not block either, since a
  // launched receive could block forever.
  for (const char* const off :
       {"CUDA_LAUNCH_BLOCKING", "NCCL_LAUNCH_ORDER_IMPLICIT", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_DESYNC_DEBUG", "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_NAN_CHECK", "TORCH_NCCL_PROPAGATE_ERROR",
        "TORCH_NCCL_RETHROW_CUDA_ERRORS", "TORCH_NCCL_USE_COMM_NONBLOCKING", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"})
    ::setenv(off, "0", 1);
  // The start of a run needs memory blocks of other sizes than its steps. Expandable segments avoid fragmentation.
  if (std::getenv("PYTORCH_CUDA_ALLOC_CONF") == nullptr) ::setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True", 0);
  // CollNet and NVLS speed up collectives that Titan does not use, such as all-reduce. Their setup costs memory and
  // time, and fails in some containers.
  for (const char* const unused : {"NCCL_COLLNET_ENABLE", "NCCL_NVLS_ENABLE"}) ::setenv(unused, "0", 0);
  // NCCL refuses two ranks of one host on the same GPU. So each rank gets a host id of its own, and ranks connect over
  // the loopback interface.
  if (const char* const rank = std::getenv("RANK"); gpu_is_shared() && rank != nullptr) {
    ::setenv("NCCL_HOSTID", ("titan-rank-" + std::string(rank)).c_str(), 1);
    ::setenv("NCCL_IB_DISABLE", "1", 0);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  }
  // The old names of three of the variables above: they would take precedence.
  for (const char* const old : {"NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG"})
    ::unsetenv(old);
}

void set_gpu_switches(const DeviceSettings& settings) {
  // A separate workspace for each stream, so that streams cannot affect each other's sums. cuBLAS reads the variable at
  // its first use.
  ::setenv(kWorkspace, kOwnWorkspace, 0);
  at::Context& context = at::globalContext();
  // With deterministic algorithms, flash attention's backward adds in a fixed order. LibTorch then refuses cuDNN's
  // attention, which has no such backward.
  const bool strict = settings.deterministic && settings.attention != "cudnn";
  context.setDeterministicAlgorithms(strict, /*warn_only=*/false);
  context.setDeterministicCuDNN(settings.deterministic);
  context.setBenchmarkCuDNN(!settings.deterministic);
  // Split-K stays enabled: its sums are fp32 here, in an order that depends only on the shape. LibTorch throws if it is
  // disabled.
  context.setAllowBF16ReductionCuBLAS(!settings.deterministic, /*allow_splitk=*/true);
  context.setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL, at::Float32Precision::IEEE);
  context.setSDPUseFlash(settings.attention == "flash");
  context.setSDPUseCuDNN(settings.attention == "cudnn");
  context.setSDPUseMath(settings.attention == "math");
  context.setSDPUseMemEfficient(false);
}

ckpt::Settings gpu_rows(const DeviceSettings& settings) {
  ckpt::Settings rows = {{"attention", settings.attention}, {"cublas", cublas_version()}};
  if (const char* given = std::getenv(kWorkspace); given != nullptr && given != std::string_view(kOwnWorkspace))
    rows.emplace_back("cublas_workspace", given);
  rows.emplace_back("cuda", cuda_version(CUDART_VERSION));
  rows.emplace_back("cudnn", std::to_string(at::detail::getCUDAHooks().versionCuDNN()));
  // Variables set by the user that affect which kernels the libraries choose.
  for (const auto& [variable, row] : kChoosing)
    if (const char* given = std::getenv(variable); given != nullptr) rows.emplace_back(row, given);
  if (!settings.deterministic) rows.emplace_back("deterministic", "false");
  const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(settings.index));
  rows.emplace_back("device", properties.name);
  rows.emplace_back("driver", driver_row());
  // The number of multiprocessors determines how flash attention's backward is split. MPS or MIG may show fewer than
  // the GPU has.
  rows.emplace_back("multiprocessors", std::to_string(properties.multiProcessorCount));
  rows.emplace_back("nccl", nccl_version());
  rows.emplace_back("torch", TORCH_VERSION);
  return rows;
}

}  // namespace titan::train
