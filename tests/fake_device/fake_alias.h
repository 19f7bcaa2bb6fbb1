#pragma once
// CPU tensors over the memory of the fake device.
#include "tests/fake_device/host_alias.h"

namespace titan::test {

HostAliases fake_aliases();
/// One tensor as the CPU's kernels see it.
at::Tensor host_alias(const at::Tensor& tensor);
/// A copy on the device.
at::Tensor to_device(const at::Tensor& host);

}  // namespace titan::test
