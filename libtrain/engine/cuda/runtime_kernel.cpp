#include "libtrain/engine/cuda/runtime_kernel.h"

#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <nvrtc.h>

#include "libtrain/engine/cuda/element_kernels_text.h"

namespace titan::train {
namespace {

void check(nvrtcResult result, const char* what) {
  if (result != NVRTC_SUCCESS)
    throw std::runtime_error(std::string("NVRTC cannot ") + what + ": " + ::nvrtcGetErrorString(result));
}

/// The newest architecture that NVRTC knows and the GPU has: 90 for compute capability 9.0.
int architecture(int of_gpu) {
  int count = 0;
  check(::nvrtcGetNumSupportedArchs(&count), "list its architectures");
  std::vector<int> known(static_cast<std::size_t>(count));
  check(::nvrtcGetSupportedArchs(known.data()), "list its architectures");
  int newest = 0;
  for (const int one : known)
    if (one <= of_gpu && one > newest) newest = one;
  if (newest == 0)
    throw std::runtime_error("NVRTC knows no GPU of compute capability " + std::to_string(of_gpu / 10) + "." +
                             std::to_string(of_gpu % 10));
  return newest;
}

/// The compiled element kernels: machine code, or PTX if NVRTC does not know a GPU as new as this one.
std::vector<char> compiled(int of_gpu) {
  const int target = architecture(of_gpu);
  const std::string option =
      (target == of_gpu ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") + std::to_string(target);
  nvrtcProgram program = nullptr;
  check(::nvrtcCreateProgram(&program, kElementKernels, "element_kernels.cu", 0, nullptr, nullptr), "begin");
  const char* const options[] = {option.c_str(), "--std=c++17"};
  const nvrtcResult result = ::nvrtcCompileProgram(program, 2, options);
  std::size_t size = 0;
  std::vector<char> text;
  if (result != NVRTC_SUCCESS) {
    ::nvrtcGetProgramLogSize(program, &size);
    text.resize(size + 1);
    ::nvrtcGetProgramLog(program, text.data());
    throw std::runtime_error("NVRTC cannot compile the element kernels with " + option + ":\n" + text.data());
  }
  if (target == of_gpu) {
    check(::nvrtcGetCUBINSize(program, &size), "give its code");
    text.resize(size);
    check(::nvrtcGetCUBIN(program, text.data()), "give its code");
  } else {
    check(::nvrtcGetPTXSize(program, &size), "give its code");
    text.resize(size);
    check(::nvrtcGetPTX(program, text.data()), "give its code");
  }
  ::nvrtcDestroyProgram(&program);
  return text;
}

/// The compiled kernels of one GPU, kept for the life of the process.
class KernelLibrary {
 public:
  const void* kernel(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (library_ == nullptr) {
      const cudaDeviceProp& gpu = *at::cuda::getCurrentDeviceProperties();
      code_ = compiled(10 * gpu.major + gpu.minor);
      C10_CUDA_CHECK(::cudaLibraryLoadData(&library_, code_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    }
    cudaKernel_t& found = kernels_[name];
    if (found == nullptr) C10_CUDA_CHECK(::cudaLibraryGetKernel(&found, library_, name.c_str()));
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<char> code_;
  cudaLibrary_t library_ = nullptr;
  std::map<std::string, cudaKernel_t> kernels_;
};

}  // namespace

void launch_kernel(const std::string& name, dim3 blocks, unsigned threads, void** arguments) {
  static KernelLibrary& library = *new KernelLibrary;  // a process has one GPU
  C10_CUDA_CHECK(
      ::cudaLaunchKernel(library.kernel(name), blocks, dim3(threads), arguments, 0, c10::cuda::getCurrentCUDAStream()));
}

}  // namespace titan::train
