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
  std::byte* (*for_kernels)(const void* address);  ///< the address at which the host can access device memory
};

/// Of the tensors of one call.
class HostAliases {
 public:
  explicit HostAliases(AliasedDevice device) : device_(device) {}
  /// An alias with the same values, shape and strides. Anything but a device tensor is returned unchanged; a host
  /// tensor with at least one dimension is refused, as CUDA's kernels do. \error std::logic_error
  at::Tensor of(const at::Tensor& tensor);
  /// The device tensor for the result of a CPU kernel: the tensor that it aliases, a view of its memory, or a new
  /// tensor.
  at::Tensor back(const at::Tensor& tensor);
  /// Resizes tensors as kernels have resized their aliases.
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
