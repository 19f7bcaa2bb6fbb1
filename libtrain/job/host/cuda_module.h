#pragma once
// libtitan_cuda.so: all that knows CUDA and NCCL, opened only where a run computes on GPUs. Without it titan-train
// loads neither.
#include <string>
#include <string_view>

#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

/// Where the module is looked for: in TITAN_CUDA_MODULE where that is set, beside the program, then in ../lib.
std::string cuda_module_path();

bool has_cuda_module();  ///< it is there

/// Whether this host has an NVIDIA driver; takes microseconds.
bool has_nvidia_driver();

/// The LibTorch that a module was built with, by the mark in its bytes; empty: there is none.
std::string marked_torch(std::string_view bytes);

/// Opens the module at `path`; it stays open until the process ends.
class CudaModule {
 public:
  /// `torch`: the LibTorch that the program runs with. \error kInvalid: there is none, it cannot be opened, or it was
  /// built for another LibTorch
  static ckpt::Result<CudaModule> open(const std::string& path, const std::string& torch);

  GpuFacts probe() const;
  /// What the module offers under this name; null where it does not.
  void* find(const char* name) const;

 private:
  explicit CudaModule(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace titan::train
