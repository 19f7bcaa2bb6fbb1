#include "libtrain/engine/device/cpu/cpu_device.h"

#include <cstring>

#include "libtrain/engine/device/cpu/thread_lane.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/tensor_memory.h"

namespace titan::train {

MemoryFigures CpuDevice::memory() const { return {.tensors = most_tensor_bytes()}; }

at::Tensor CpuDevice::to_host(const at::Tensor& values) { return values.detach().contiguous(); }

std::vector<double> CpuDevice::read(std::span<const at::Tensor> scalars) {
  std::vector<double> values;
  for (const at::Tensor& scalar : scalars) values.push_back(host_values<double>(scalar).front());
  return values;
}

std::unique_ptr<Lane> CpuDevice::make_lane() { return std::make_unique<ThreadLane>(); }

void CpuDevice::copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence*) {
  std::memcpy(to.data(), host_bytes(values).data(), to.size());
}

std::span<const std::byte> CpuDevice::bytes(const at::Tensor& values, std::span<std::byte>) {
  return host_bytes(values);
}

}  // namespace titan::train
