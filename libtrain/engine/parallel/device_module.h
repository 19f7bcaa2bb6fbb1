#pragma once
// The interface of a shared library (a module) that provides a device and fabrics between such devices. There are two
// modules: libtitan_cuda.so, and one for tests. titan-train looks up these functions by name
// (libtrain/job/host/cuda_module.h).
//
//   const char* titan_cuda_torch_version()                    the LibTorch it was built with; called first
//   const char* titan_cuda_interface()                        the digest of the headers that titan-train and a module
//                                                             must have in common (cmake/TitanInterface.cmake)
//   void titan_cuda_probe(GpuFacts*)                          the GPUs of this host; creates no CUDA context
//   DeviceModule* titan_cuda_module()                         the module's object, which lives as long as the process
#include <memory>
#include <string>

#include "libtrain/engine/parallel/fabric_maker.h"

namespace titan::train {

class Device;

/// Settings of a GPU.
struct DeviceSettings {
  int index = 0;                    ///< index among the GPUs that this process sees
  bool deterministic = true;        ///< whether results must have the same bits each time
  std::string attention = "flash";  ///< the attention kernel: flash, cudnn or math
};

class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  /// Creates the device of this process and sets LibTorch's switches for it. Call it once. \error throws CUDA's errors
  virtual std::unique_ptr<Device> make_device(const DeviceSettings& settings) = 0;
  /// Creates this rank's member of a group of devices. Call it after make_device(). \error throws CommError
  virtual std::unique_ptr<Fabric> make_fabric(const FabricRequest& request) = 0;
};

/// The name of the function that returns the DeviceModule.
inline constexpr const char* kDeviceModuleEntry = "titan_cuda_module";

}  // namespace titan::train
