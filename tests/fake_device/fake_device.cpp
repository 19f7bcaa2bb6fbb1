#include "tests/fake_device/fake_device.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

#include "libtrain/engine/device/host_values.h"
#include "tests/fake_device/device_memory.h"
#include "tests/fake_device/fake_alias.h"
#include "tests/fake_device/kernels.h"
#include "tests/libtrain/support/late_lane.h"

namespace titan::test {

using train::Fence;

FakeDevice::FakeDevice() { register_kernels(); }

train::MemoryFigures FakeDevice::memory() const {
  const DeviceMemory::Bytes bytes = DeviceMemory::get().bytes();
  return {.tensors = bytes.peak, .total = bytes.total};
}

at::Tensor FakeDevice::host_for(const at::Tensor& values) {
  at::Tensor host = at::empty(values.sizes(), values.scalar_type());
  std::memset(host.mutable_data_ptr(), 0xff, host.nbytes());
  std::uint64_t largest = largest_host_;
  while (largest < host.nbytes() && !largest_host_.compare_exchange_weak(largest, host.nbytes())) {}
  return host;
}

void FakeDevice::upload(const at::Tensor& host, const at::Tensor& values) {
  ++uploads_;
  const at::NoGradGuard no_grad;
  host_alias(values).copy_(host);
}

at::Tensor FakeDevice::from_host(at::Tensor host) {
  ++uploads_;
  return to_device(host);
}

at::Tensor FakeDevice::to_host(const at::Tensor& values) {
  ++reads_;
  return host_alias(values.detach()).clone(at::MemoryFormat::Contiguous);
}

std::vector<double> FakeDevice::read(std::span<const at::Tensor> scalars) {
  if (scalars.empty()) return {};
  ++reads_;
  std::vector<double> values;
  for (const at::Tensor& scalar : scalars) values.push_back(train::host_values<double>(host_alias(scalar)).front());
  return values;
}

std::unique_ptr<train::Lane> FakeDevice::make_lane() { return std::make_unique<LateLane>(); }

std::shared_ptr<Fence> FakeDevice::fence() { return std::make_shared<Fence>(); }

void FakeDevice::copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) {
  ++copies_out_;
  if (fence == nullptr) ++without_fence_;
  std::memcpy(to.data(), train::host_bytes(host_alias(values)).data(), to.size());
}

at::Tensor FakeKernels::attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                  bool causal) {
  return cpu_.attention(q_BHTK, k_BGTK, v_BGTK, causal);
}

at::Tensor FakeKernels::exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  return to_device(cpu_.exact_losses(host_alias(logits_BTV), host_alias(targets_BT)));
}

at::Tensor FakeKernels::loss_sum(const at::Tensor& losses) { return to_device(cpu_.loss_sum(host_alias(losses))); }

void FakeKernels::leaf_norms(std::span<const train::NormLeaf> leaves, int p) {
  if (leaves.empty()) return;
  ++reads_;
  std::vector<at::Tensor> values;
  values.reserve(leaves.size());
  std::vector<train::NormLeaf> on_host;
  for (const train::NormLeaf& leaf : leaves)
    on_host.push_back({&values.emplace_back(host_alias(*leaf.values)), leaf.begin, leaf.length, leaf.entry});
  cpu_.leaf_norms(on_host, p);
}

FakeDevice::Counts FakeDevice::counts() const {
  return {reads_ + kernel_host_reads(), uploads_, copies_out_, without_fence_, largest_host_};
}

void FakeDevice::reset() {
  for (std::atomic<std::uint64_t>* count :
       {&reads_, &uploads_, &copies_out_, &without_fence_, &largest_host_, &kernel_host_reads()})
    *count = 0;
}

}  // namespace titan::test
