#include "libtrain/engine/device/device.h"

#include <ATen/ATen.h>

#include <stdexcept>

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

at::Tensor Device::masked_attention(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  throw std::invalid_argument("attention with a sliding window is not supported on " + name() + " yet");
}

Normed Device::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return single_rms_norm(x, weight, eps);
}

NormGradients Device::norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                     const at::Tensor& weight, const at::Tensor& scale) {
  return single_norm_gradients(grad, along, x, weight, scale);
}

}  // namespace titan::train
