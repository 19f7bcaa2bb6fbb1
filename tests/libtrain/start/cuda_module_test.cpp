#include "libtrain/start/cuda_module.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace titan::train {
namespace {

using testing::HasSubstr;

TEST(CudaModule, IsLookedForBesideTheProgram) {
  EXPECT_THAT(cuda_module_path(),
              testing::AnyOf(HasSubstr("/bin/libtitan_cuda.so"), HasSubstr("/../lib/libtitan_cuda.so")));
}

TEST(CudaModule, IsTakenFromWhereAVariableSays) {
  ::setenv("TITAN_CUDA_MODULE", "/elsewhere/module.so", 1);
  EXPECT_EQ(cuda_module_path(), "/elsewhere/module.so");
  ::setenv("TITAN_CUDA_MODULE", "", 1);
  EXPECT_THAT(cuda_module_path(), HasSubstr("/libtitan_cuda.so"));
  ::unsetenv("TITAN_CUDA_MODULE");
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
