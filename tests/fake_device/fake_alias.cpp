#include "tests/fake_device/fake_alias.h"

#include <ATen/ATen.h>

#include "tests/fake_device/device_memory.h"

namespace titan::test {

HostAliases fake_aliases() {
  return HostAliases({c10::DispatchKey::PrivateUse1, &DeviceMemory::get(),
                      [](const void* address) { return DeviceMemory::get().for_kernels(address); }});
}

at::Tensor host_alias(const at::Tensor& tensor) { return fake_aliases().of(tensor); }

at::Tensor to_device(const at::Tensor& host) { return fake_aliases().back(host.contiguous()); }

}  // namespace titan::test
