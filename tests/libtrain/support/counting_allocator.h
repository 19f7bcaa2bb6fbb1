#pragma once
// Counts the memory of CPU tensors, present and peak.
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace titan::test {

/// Counts the tensors made while it lives, on all threads. One at a time; must outlive those tensors.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : inner_(c10::GetCPUAllocator()) {
    the_one_ = this;
    c10::SetCPUAllocator(this, kPriority);
  }
  ~CountingAllocator() override { c10::SetCPUAllocator(inner_, kPriority); }

  std::int64_t held() const { return all_.held; }
  std::int64_t peak() const { return all_.peak; }
  /// From now on, the calling thread's tensors also count for this rank.
  void count_for(int rank) { rank_ = rank; }
  std::int64_t peak_of(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).peak; }

  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr inner = inner_->allocate(bytes);
    void* const data = inner.get();
    const Block block{static_cast<std::int64_t>(bytes), static_cast<std::size_t>(rank_)};
    all_.add(block.bytes);
    ranks_[block.rank].add(block.bytes);
    const std::lock_guard lock(mutex_);
    blocks_.insert_or_assign(data, std::pair{std::move(inner), block});
    return {data, data, &release, c10::DeviceType::CPU};
  }
  /// LibTorch's products ask for memory that is freed by a plain function.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

 private:
  static constexpr std::uint8_t kPriority = 1;
  struct Block {
    std::int64_t bytes = 0;
    std::size_t rank = 0;
  };
  struct Count {
    void add(std::int64_t bytes) {
      const std::int64_t now = held += bytes;
      for (std::int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {}
    }
    std::atomic<std::int64_t> held = 0, peak = 0;
  };
  static void release(void* data) { the_one_->forget(data); }
  void forget(void* data) {
    c10::DataPtr inner;  // ends after the lock
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return;
    inner = std::move(found->second.first);
    const Block block = found->second.second;
    blocks_.erase(found);
    all_.held -= block.bytes;
    ranks_[block.rank].held -= block.bytes;
  }

  static inline CountingAllocator* the_one_ = nullptr;
  c10::Allocator* inner_;
  Count all_;
  std::array<Count, 16> ranks_;
  std::mutex mutex_;
  std::unordered_map<void*, std::pair<c10::DataPtr, Block>> blocks_;
  static inline thread_local int rank_ = 0;
};

}  // namespace titan::test
