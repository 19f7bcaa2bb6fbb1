#pragma once
// A simulated device: the CPU's kernels on memory that the host cannot access. Computing on it must give the CPU's
// bits; any host access to device memory faults.
#include <atomic>
#include <cstdint>

#include "libtrain/engine/device/cpu/cpu_kernels.h"
#include "libtrain/engine/device/device.h"

namespace titan::test {

/// The CPU's kernels, on the fake device's memory.
class FakeKernels final : public train::Kernels {
 public:
  explicit FakeKernels(std::atomic<std::uint64_t>& reads) : reads_(reads) {}
  at::Tensor attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                       bool causal) override;
  at::Tensor exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) override;
  at::Tensor loss_sum(const at::Tensor& losses) override;
  void leaf_norms(std::span<const train::NormLeaf> leaves, int p) override;

 private:
  train::CpuKernels cpu_;
  std::atomic<std::uint64_t>& reads_;  ///< of the device
};

class FakeDevice final : public train::Device {
 public:
  /// Makes LibTorch know it; before the first backward pass.
  FakeDevice();

  at::Device place() const override { return {at::kPrivateUse1, 0}; }
  std::string name() const override { return "fake"; }
  ckpt::Settings environment() const override { return {{"device", "fake"}}; }
  train::MemoryFigures memory() const override;
  at::Tensor host_for(const at::Tensor& values) override;
  void upload(const at::Tensor& host, const at::Tensor& values) override;
  at::Tensor from_host(at::Tensor host) override;
  at::Tensor to_host(const at::Tensor& values) override;
  std::vector<double> read(std::span<const at::Tensor> scalars) override;
  std::unique_ptr<train::Lane> make_lane() override;
  std::shared_ptr<train::Fence> fence() override;
  void copy_out(const at::Tensor& values, std::span<std::byte> to, const train::Fence* fence) override;
  train::Kernels& kernels() override { return kernels_; }

  /// What has happened since reset().
  struct Counts {
    std::uint64_t host_reads = 0;     ///< to_host(), read(), norms, and values that kernels returned to the host
    std::uint64_t uploads = 0;        ///< upload() and from_host()
    std::uint64_t copies_out = 0;     ///< for savers
    std::uint64_t without_fence = 0;  ///< those of copies_out that waited for nothing
    std::uint64_t largest_host = 0;   ///< bytes that host_for() gave at once
  };
  Counts counts() const;
  void reset();

 private:
  std::atomic<std::uint64_t> reads_{0}, uploads_{0}, copies_out_{0}, without_fence_{0}, largest_host_{0};
  FakeKernels kernels_{reads_};
};

}  // namespace titan::test
