#pragma once
// libtitan_cuda.so: all code that uses CUDA and NCCL. It is opened only if a run may compute on GPUs (device_choice.h);
// otherwise titan-train loads neither CUDA nor NCCL.
#include <string>
#include <string_view>

#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

/// The path of the module: TITAN_CUDA_MODULE if that is set, else next to the program, else in ../lib.
std::string cuda_module_path();

bool has_cuda_module();  ///< whether cuda_module_path() exists

/// Whether this host has an NVIDIA driver; takes microseconds.
bool has_nvidia_driver();

/// The LibTorch version that a module was built with, from the mark in its bytes; empty: there is no mark.
std::string marked_torch(std::string_view bytes);

/// Opens the module at `path`; it stays open until the process ends.
class CudaModule {
 public:
  /// `torch`: the LibTorch version of this program. \error kInvalid: there is no module, it cannot be opened, or it is
  /// of another LibTorch or another build of titan-train
  static ckpt::Result<CudaModule> open(const std::string& path, const std::string& torch);

  GpuFacts probe() const;
  /// The module's symbol `name`; null if it has none.
  void* find(const char* name) const;

 private:
  explicit CudaModule(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace titan::train
