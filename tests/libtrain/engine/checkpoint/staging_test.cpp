#include "libtrain/engine/checkpoint/staging.h"

#include <gtest/gtest.h>
#include <new>
#include <utility>
#include <vector>

#include "libtrain/engine/device/cpu/cpu_device.h"

namespace titan::train::staging_test {
namespace {

TEST(Staging, MakesNoMoreThanTheLimitAndUsesBuffersAgain) {
  Staging staging(100, 250);
  Staging::Buffer first = staging.take(), second = staging.take();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(staging.take()) << "300 bytes are more than 250";
  const std::byte* const memory = first.get();
  first.reset();
  EXPECT_EQ(staging.take().get(), memory);
  EXPECT_FALSE(Staging(100, 99).take());
}

TEST(Staging, ABufferMayOutliveIt) {
  Staging::Buffer buffer = Staging(100, 100).take();
  ASSERT_TRUE(buffer);
  buffer[99] = std::byte{1};
}

/// Counts the calls that make memory, of which the second and later ones find none.
class FullDevice final : public CpuDevice {
 public:
  std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
    if (++calls > 1) throw std::bad_alloc();
    made = bytes;
    return CpuDevice::host_memory(bytes);
  }
  int calls = 0;
  std::size_t made = 0;
};

TEST(Staging, MemoryIsMadeManyLeavesAtATimeAndWhatIsNotToBeHadIsDoneWithout) {
  constexpr std::size_t kMiB = 1 << 20;
  FullDevice full;
  use_device(&full);
  Staging staging(kMiB, 200 * kMiB);
  std::vector<Staging::Buffer> buffers;
  while (Staging::Buffer buffer = staging.take()) buffers.push_back(std::move(buffer));
  EXPECT_EQ(buffers.size(), 64u);
  EXPECT_EQ(full.made, 64 * kMiB);
  EXPECT_EQ(full.calls, 2);
  EXPECT_FALSE(staging.take());
  EXPECT_EQ(full.calls, 2) << "it is not asked for again, leaf by leaf";
  buffers.front()[kMiB - 1] = std::byte{1};
  buffers.pop_back();
  EXPECT_TRUE(staging.take());
  use_device(nullptr);
}

}  // namespace
}  // namespace titan::train::staging_test
