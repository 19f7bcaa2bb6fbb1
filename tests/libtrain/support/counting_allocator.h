#pragma once
// Counts what tensors on the CPU hold, and how much they held at most.
#include <atomic>
#include <cstdint>
#include <memory>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace titan::test {

/// Counts the tensors made while it lives, on all threads. One at a time; must outlive those tensors.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : inner_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~CountingAllocator() override { c10::SetCPUAllocator(inner_, kPriority); }

  std::int64_t held() const { return held_; }
  std::int64_t peak() const { return peak_; }

  c10::DataPtr allocate(std::size_t bytes) override {
    auto block = std::make_unique<Block>(Block{inner_->allocate(bytes), static_cast<std::int64_t>(bytes), this});
    const std::int64_t held = held_ += block->bytes;
    for (std::int64_t peak = peak_; held > peak && !peak_.compare_exchange_weak(peak, held);) {}
    void* data = block->data.get();
    return {data, block.release(), &release, c10::DeviceType::CPU};
  }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

 private:
  static constexpr std::uint8_t kPriority = 1;
  struct Block {
    c10::DataPtr data;
    std::int64_t bytes;
    CountingAllocator* counter;
  };
  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->counter->held_ -= block->bytes;
  }

  c10::Allocator* inner_;
  std::atomic<std::int64_t> held_ = 0, peak_ = 0;
};

}  // namespace titan::test
