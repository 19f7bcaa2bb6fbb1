#pragma once
// CPU tensors over the memory of a simulated device, so that the CPU's kernels compute in place: same bits, no copies.
#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::test {

/// A device whose memory is really the host's.
struct AliasedDevice {
  c10::DispatchKey key;
  c10::Allocator* memory;
  std::byte* (*for_kernels)(const void* address);  ///< where the host finds what lies at an address of the device
};

/// Of the tensors of one call.
class HostAliases {
 public:
  explicit HostAliases(AliasedDevice device) : device_(device) {}
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
  bool is_of_device(const at::Tensor& tensor) const { return tensor.key_set().has(device_.key); }
  c10::Storage new_storage(const c10::Storage& host) const;

  AliasedDevice device_;
  std::vector<Pair> pairs_;
  std::vector<Memory> memories_;
};

}  // namespace titan::test
