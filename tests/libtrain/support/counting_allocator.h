#pragma once
// Counts what tensors on the CPU hold, and how much they held at most.
#include <array>
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

  std::int64_t held() const { return all_.held; }
  std::int64_t peak() const { return all_.peak; }
  /// What the calling thread makes from here on counts as the rank's too.
  void count_for(int rank) { rank_ = rank; }
  std::int64_t peak_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).peak; }

  c10::DataPtr allocate(std::size_t bytes) override {
    auto block = std::make_unique<Block>(
        Block{inner_->allocate(bytes), static_cast<std::int64_t>(bytes), this, static_cast<std::size_t>(rank_)});
    all_.add(block->bytes);
    ranks_[block->rank].add(block->bytes);
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
    std::size_t rank;
  };
  struct Count {
    void add(std::int64_t bytes) {
      const std::int64_t now = held += bytes;
      for (std::int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {}
    }
    std::atomic<std::int64_t> held = 0, peak = 0;
  };
  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->counter->all_.held -= block->bytes;
    block->counter->ranks_[block->rank].held -= block->bytes;
  }

  c10::Allocator* inner_;
  Count all_;
  std::array<Count, 16> ranks_;
  static inline thread_local int rank_ = 0;
};

}  // namespace titan::test
