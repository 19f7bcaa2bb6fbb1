#include "libtrain/engine/device/host_values.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace titan::train {
namespace {

void check_host(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) throw std::logic_error("the host reads memory of a device: " + tensor.device().str());
  if (!tensor.is_contiguous()) throw std::logic_error("the host reads a tensor that is not contiguous");
}

}  // namespace

std::span<const std::byte> host_bytes(const at::Tensor& tensor) {
  check_host(tensor);
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

std::span<std::byte> mutable_host_bytes(const at::Tensor& tensor) {
  check_host(tensor);
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

void check_type(const at::Tensor& tensor, at::ScalarType type) {
  if (tensor.scalar_type() != type) throw std::logic_error("the host reads a tensor as another type than it has");
}

std::uintptr_t address_of(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
}

}  // namespace titan::train
