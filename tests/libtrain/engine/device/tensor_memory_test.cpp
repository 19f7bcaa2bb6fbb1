#include "libtrain/engine/device/tensor_memory.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace titan::train::tensor_memory_test {
namespace {

constexpr std::size_t kLarge = TensorMemory::kLarge, kPage = 4096;

TEST(TensorMemory, ABlockComesBackToItsSize) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  c10::DataPtr first = memory.allocate(3 * kLarge);
  std::memset(first.get(), 1, 3 * kLarge);
  void* const where = first.get();
  first.clear();
  EXPECT_EQ(memory.bytes().used, 0u);
  EXPECT_EQ(memory.bytes().free, 3 * kLarge);
  const c10::DataPtr again = memory.allocate(3 * kLarge - 5);  // the same pages
  EXPECT_EQ(again.get(), where);
  EXPECT_EQ(memory.bytes().free, 0u);
}

// As oneDNN's products do for what they reorder.
TEST(TensorMemory, IsFreedByAPlainFunctionToo) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  for (const std::size_t bytes : {std::size_t{100}, 2 * kLarge}) {
    void* const data = memory.raw_allocate(bytes);
    std::memset(data, 1, bytes);
    EXPECT_EQ(memory.bytes().used, bytes < kLarge ? 0 : bytes);
    memory.raw_deallocate(data);
    EXPECT_EQ(memory.bytes().used, 0u);
  }
}

TEST(TensorMemory, LeavesSmallTensorsToTheOther) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  const c10::DataPtr none = memory.allocate(0), small = memory.allocate(kLarge - 1);
  EXPECT_EQ(memory.bytes().used, 0u);
  EXPECT_NE(small.get(), nullptr);
}

TEST(TensorMemory, AFreeRangeIsDividedAndBecomesOneAgain) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  c10::DataPtr whole = memory.allocate(4 * kLarge);
  auto* const where = static_cast<std::byte*>(whole.get());
  whole.clear();
  std::vector<c10::DataPtr> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    parts.push_back(memory.allocate(kLarge));
    EXPECT_EQ(parts.back().get(), where + i * kLarge);
  }
  EXPECT_EQ(memory.bytes().free, 0u);
  for (const std::size_t i : {1u, 3u, 0u, 2u}) parts[i].clear();
  EXPECT_EQ(memory.allocate(4 * kLarge).get(), where);
}

TEST(TensorMemory, HoldsLittleMoreThanWasUsedAtOnce) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  std::mt19937 random(3);
  std::vector<c10::DataPtr> alive;
  std::size_t most_used = 0, most_held = 0;
  for (int i = 0; i < 3000; ++i) {
    if (alive.size() > 20 || (!alive.empty() && random() % 2 == 0)) {
      std::swap(alive[random() % alive.size()], alive.back());
      alive.pop_back();
    } else {
      alive.push_back(memory.allocate(kLarge + random() % 9 * 100'000));
    }
    most_used = std::max(most_used, memory.bytes().used);
    most_held = std::max(most_held, memory.bytes().used + memory.bytes().free);
  }
  EXPECT_LE(most_held, most_used + most_used / 32);
  alive.clear();
  EXPECT_EQ(memory.bytes().used, 0u);
}

TEST(TensorMemory, IsSharedByThreads) {
  TensorMemory memory(*c10::GetDefaultCPUAllocator());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&memory, t] {
      for (int i = 0; i < 200; ++i) {
        const c10::DataPtr data = memory.allocate(kLarge + static_cast<std::size_t>((t + i) % 3) * kPage);
        std::memset(data.get(), t, kPage);
        std::this_thread::yield();
        for (std::size_t k = 0; k < kPage; ++k) ASSERT_EQ(static_cast<const char*>(data.get())[k], t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.bytes().used, 0u);
}

}  // namespace
}  // namespace titan::train::tensor_memory_test
