#pragma once
// CPU tensors over the memory of the fake device, so that the CPU's kernels compute in place: same bits, no copies.
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::test {

/// Of the tensors of one call.
class HostAliases {
 public:
  /// Same values, shape and strides. What is no tensor of the device is returned as it is; one of the host that has a
  /// dimension is refused, as CUDA's kernels do. \error std::logic_error
  at::Tensor of(const at::Tensor& tensor);
  /// The tensor of the device for what a kernel of the CPU returned: the tensor whose alias it is, a view of its
  /// memory, or a new one.
  at::Tensor back(const at::Tensor& tensor);
  /// Brings tensors to the size that a kernel gave their aliases.
  void take_over_sizes();

 private:
  struct Pair {
    at::Tensor alias, original;
  };
  struct Memory {
    c10::Storage host, device;
  };
  Memory& memory_of(const c10::Storage& device);

  std::vector<Pair> pairs_;
  std::vector<Memory> memories_;
};

/// One tensor as the CPU's kernels see it.
at::Tensor host_alias(const at::Tensor& tensor);
/// A copy on the device.
at::Tensor to_device(const at::Tensor& host);

}  // namespace titan::test
