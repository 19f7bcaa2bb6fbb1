#pragma once
// Access of the host to the values of tensors in host memory. Only this file asks tensors for their addresses.
#include <cstddef>
#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// The memory of a contiguous tensor. \error std::logic_error if the tensor is not in host memory or not contiguous.
std::span<const std::byte> host_bytes(const at::Tensor& tensor);
std::span<std::byte> mutable_host_bytes(const at::Tensor& tensor);

/// \error std::logic_error if the tensor has another type.
void check_type(const at::Tensor& tensor, at::ScalarType type);

/// The elements of a contiguous tensor. \error std::logic_error as host_bytes() and check_type().
template <typename T>
std::span<const T> host_values(const at::Tensor& tensor) {
  check_type(tensor, c10::CppTypeToScalarType<T>::value);
  const std::span<const std::byte> bytes = host_bytes(tensor);
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template <typename T>
std::span<T> mutable_host_values(const at::Tensor& tensor) {
  check_type(tensor, c10::CppTypeToScalarType<T>::value);
  const std::span<std::byte> bytes = mutable_host_bytes(tensor);
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The address of a tensor's first element, as a number. The host must not dereference it: it may be an address of a
/// GPU.
std::uintptr_t address_of(const at::Tensor& tensor);

}  // namespace titan::train
