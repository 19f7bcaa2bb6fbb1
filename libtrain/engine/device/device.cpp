#include "libtrain/engine/device/device.h"

#include <ATen/ATen.h>

namespace titan::train {

at::TensorOptions Device::options(at::ScalarType type) const { return at::TensorOptions().dtype(type).device(place()); }

std::shared_ptr<std::byte[]> Device::host_memory(std::size_t bytes) {
  return std::shared_ptr<std::byte[]>(new std::byte[bytes]);  // make_shared would write zeros to it
}

at::Tensor Device::host_tensor(at::IntArrayRef sizes, at::ScalarType type) { return at::empty(sizes, type); }

void Device::keep_pace(std::size_t) {}

std::span<const std::byte> Device::bytes(const at::Tensor& values, std::span<std::byte> scratch) {
  const std::span<std::byte> to = scratch.first(values.nbytes());
  const std::shared_ptr<Fence> begun = fence();
  copy_out(values, to, begun.get());
  return to;
}

}  // namespace titan::train
