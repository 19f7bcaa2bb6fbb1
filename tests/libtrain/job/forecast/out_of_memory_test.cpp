#include "libtrain/job/forecast/out_of_memory.h"

#include <gmock/gmock.h>

#include "libtrain/job/forecast/fit_device.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::out_of_memory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

recipe::Config llama_8b() {
  recipe::Config config;
  config.model.flavor = "8B";
  config.training.seq_len = 8192;
  config.training.local_batch_size = 1;
  config.training.global_batch_size = 16;
  return config;
}

TEST(OutOfMemory, SaysWhatNeedsHowMuchAndWhatWouldFit) {
  const recipe::Config config = llama_8b();
  const recipe::RunPlan plan = recipe::make_run_plan(config, 8).value();
  const ckpt::Status status =
      out_of_memory(config, plan, 0, {"the GPU of rank 3", 79 * kGiB, 77 * kGiB, kGiB}, "CUDA out of memory.\nmore");
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_EQ(status.message,
            "the GPU of rank 3 has no memory left: tensors hold 77.0 GiB of 79.0 GiB, the allocator keeps 1.0 GiB");
  EXPECT_THAT(
      status.causes,
      ElementsAre("CUDA out of memory.", StartsWith("needed for weights: about "), StartsWith("for gradients: about "),
                  StartsWith("for the optimizer: about "), StartsWith("for activations: about "),
                  StartsWith("for exchange and transfers: about "), StartsWith("for all of it, as plan says: about ")));
  const FittingSearch found = settings_that_fit(config, plan, *recipe::device_figures("h100"));
  ASSERT_FALSE(found.fits.empty());
  EXPECT_THAT(status.hint, StartsWith(found.fits[0].words[0]));
}

TEST(OutOfMemory, SettingsForAnUnknownLimitNeedAQuarterLess) {
  const recipe::Config config = llama_8b();
  const recipe::RunPlan plan = recipe::make_run_plan(config, 8).value();
  recipe::DeviceFigures device = *recipe::device_figures("h100");
  device.reserve_bytes = 0;
  const std::uint64_t needs = *device_bytes(plan, device);
  device.memory_bytes = needs / 4 * 3;
  const FittingSearch found = settings_that_fit(config, plan, device);
  ASSERT_FALSE(found.fits.empty());
  const ckpt::Status status = out_of_memory(config, plan, 0, {"rank 0", 0, kGiB, 0}, "bad_alloc");
  EXPECT_EQ(status.message, "rank 0 has no memory left: tensors hold 1.0 GiB");
  EXPECT_THAT(status.hint, StartsWith(found.fits[0].words[0]));
}

TEST(OutOfMemory, SaysSoWhereNoSettingFits) {
  const recipe::Config config = llama_8b();
  const recipe::RunPlan plan = recipe::make_run_plan(config, 8).value();
  const ckpt::Status status = out_of_memory(config, plan, 0, {"the GPU of rank 0", 3 * kGiB, 0, 0}, "");
  EXPECT_THAT(status.hint, HasSubstr("more ranks, or a smaller model"));
}

TEST(OutOfMemory, IsKnownByItsWords) {
  EXPECT_TRUE(tells_of_memory("CUDA out of memory. Tried to allocate 2.00 GiB"));
  EXPECT_TRUE(tells_of_memory("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"));
  EXPECT_TRUE(tells_of_memory("std::bad_alloc"));
  EXPECT_FALSE(tells_of_memory("CUDA error: an illegal memory access was encountered"));
}

}  // namespace
}  // namespace titan::train::out_of_memory_test
