#include "libtrain/engine/checkpoint/staging.h"

#include <gtest/gtest.h>
#include <new>
#include <utility>

#include "libtrain/engine/device/cpu_device.h"

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

/// Has no memory when it is first asked.
class FullDevice final : public CpuDevice {
 public:
  std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override {
    if (!std::exchange(asked_, true)) throw std::bad_alloc();
    return CpuDevice::host_memory(bytes);
  }

 private:
  bool asked_ = false;
};

TEST(Staging, MemoryThatWasNotToBeHadIsAskedForAgain) {
  FullDevice full;
  use_device(&full);
  Staging staging(100, 100);
  EXPECT_THROW(staging.take(), std::bad_alloc);
  EXPECT_TRUE(staging.take());
  use_device(nullptr);
}

}  // namespace
}  // namespace titan::train::staging_test
