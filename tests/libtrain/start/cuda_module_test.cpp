#include "libtrain/start/cuda_module.h"

#include <gmock/gmock.h>

namespace titan::train {
namespace {

using testing::HasSubstr;

TEST(CudaModule, IsLookedForBesideTheProgram) {
  EXPECT_THAT(cuda_module_path(),
              testing::AnyOf(HasSubstr("/bin/libtitan_cuda.so"), HasSubstr("/../lib/libtitan_cuda.so")));
}

TEST(CudaModule, OneThatIsNotThereSaysHowToGetIt) {
  const auto module = CudaModule::open("/nowhere/libtitan_cuda.so", "2.11.0");
  EXPECT_EQ(module.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(module.status().message, HasSubstr("built without CUDA (/nowhere/libtitan_cuda.so is not there)"));
  EXPECT_THAT(module.status().hint, HasSubstr("scripts/bootstrap --cuda"));
}

TEST(CudaModule, FileThatIsNoLibraryIsRefusedWithTheReason) {
  const auto module = CudaModule::open("/proc/self/maps", "2.11.0");
  EXPECT_EQ(module.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(module.status().message, HasSubstr("/proc/self/maps cannot be used: "));
}

TEST(CudaModule, OtherLibraryIsRefused) {
  const auto module = CudaModule::open("/proc/self/exe", "2.11.0");
  EXPECT_EQ(module.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(module.status().message, HasSubstr("cannot be used"));
}

}  // namespace
}  // namespace titan::train
