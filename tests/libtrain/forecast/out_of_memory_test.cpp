#include "libtrain/forecast/out_of_memory.h"

#include <gmock/gmock.h>

#include "libtrain/forecast/fit_device.h"

namespace titan::train {
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
  const ckpt::Status status = out_of_memory(config, plan, 3, 0, {79 * kGiB, 77 * kGiB, kGiB});
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_EQ(status.message,
            "the GPU of rank 3 has no memory left: 79.0 GiB, of which tensors hold 77.0 GiB and the allocator keeps "
            "1.0 GiB in pieces");
  EXPECT_THAT(status.causes,
              ElementsAre(StartsWith("weights: about "), StartsWith("gradients: about "),
                          StartsWith("optimizer: about "), StartsWith("activations: about "),
                          StartsWith("exchange and transfers: about "), StartsWith("all of it, by plan: about ")));
  recipe::DeviceFigures device = *recipe::device_figures("h100");
  const FittingSearch found = settings_that_fit(config, plan, device);
  ASSERT_FALSE(found.fits.empty());
  EXPECT_THAT(status.hint, StartsWith(found.fits[0].words[0]));
}

TEST(OutOfMemory, SaysSoWhereNoSettingFits) {
  const recipe::Config config = llama_8b();
  const ckpt::Status status = out_of_memory(config, recipe::make_run_plan(config, 8).value(), 0, 0, {3 * kGiB, 0, 0});
  EXPECT_THAT(status.hint, HasSubstr("more GPUs"));
}

}  // namespace
}  // namespace titan::train
