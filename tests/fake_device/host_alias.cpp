#include "tests/fake_device/host_alias.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace titan::test {
namespace {

at::Tensor over(const c10::Storage& storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor tensor =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  tensor._set_conj(like.is_conj());
  tensor._set_neg(like.is_neg());
  return tensor;
}

}  // namespace

c10::Storage HostAliases::new_storage(const c10::Storage& host) const {
  c10::DataPtr place = device_.memory->allocate(host.nbytes());
  if (host.nbytes() > 0) std::memcpy(device_.for_kernels(place.get()), host.data(), host.nbytes());
  return {c10::Storage::use_byte_size_t(), host.nbytes(), std::move(place), device_.memory, /*resizable=*/true};
}

HostAliases::Memory& HostAliases::memory_of(const c10::Storage& device) {
  for (Memory& memory : memories_)
    if (memory.device.unsafeGetStorageImpl() == device.unsafeGetStorageImpl()) return memory;
  std::byte* const place = device_.for_kernels(device.data());
  return memories_.emplace_back(
      Memory{c10::Storage(c10::Storage::use_byte_size_t(), device.nbytes(), c10::DataPtr(place, c10::kCPU),
                          c10::GetAllocator(c10::kCPU), /*resizable=*/true),
             device});
}

at::Tensor HostAliases::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (!is_of_device(tensor)) {
    if (tensor.dim() > 0) throw std::logic_error("a kernel of the simulated device gets a tensor of the host");
    return tensor;
  }
  return pairs_.emplace_back(Pair{over(memory_of(tensor.storage()).host, c10::DispatchKey::CPU, tensor), tensor}).alias;
}

at::Tensor HostAliases::back(const at::Tensor& tensor) {
  if (!tensor.defined() || is_of_device(tensor)) return tensor;
  for (const Pair& pair : pairs_)
    if (pair.alias.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl()) return pair.original;
  const auto known = std::ranges::find_if(memories_, [&](const Memory& memory) {
    return memory.host.unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl();
  });
  if (known != memories_.end()) return over(known->device, device_.key, tensor);
  const c10::Storage made = new_storage(tensor.storage());
  memories_.push_back({tensor.storage(), made});
  return over(made, device_.key, tensor);
}

void HostAliases::take_over_sizes() {
  for (Memory& memory : memories_) {
    const void* const place = memory.device.data() == nullptr ? nullptr : device_.for_kernels(memory.device.data());
    if (memory.host.data() == place) continue;
    c10::Storage grown = new_storage(memory.host);
    memory.device.set_data_ptr_noswap(std::move(grown.mutable_data_ptr()));
    memory.device.set_nbytes(memory.host.nbytes());
  }
  for (const Pair& pair : pairs_)
    if (pair.alias.sizes() != pair.original.sizes() || pair.alias.strides() != pair.original.strides())
      pair.original.unsafeGetTensorImpl()->set_sizes_and_strides(pair.alias.sizes(), pair.alias.strides(),
                                                                 pair.alias.storage_offset());
}

}  // namespace titan::test
