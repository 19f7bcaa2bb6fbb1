#include "libtrain/job/host/cuda_module.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

namespace titan::train::cuda_module_test {
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

// What another LibTorch lacks ends dlopen() before the module can be asked.
TEST(CudaModule, OneThatCannotBeOpenedSaysForWhichLibTorchItIs) {
  const std::string path = testing::TempDir() + "module-of-another-torch.so";
  std::ofstream(path, std::ios::binary) << "\x7f"
                                        << "ELF rubbish titan-cuda-module of LibTorch 2.9.1" << '\0' << "more";
  const auto module = CudaModule::open(path, "2.11.0");
  EXPECT_EQ(module.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(module.status().message, HasSubstr("was built for LibTorch 2.9.1, and titan-train runs with 2.11.0"));
  EXPECT_THAT(CudaModule::open(path, "2.9.1").status().message, HasSubstr("cannot be used"));
}

TEST(CudaModule, TheMarkIsReadAsFarAsTheVersionGoes) {
  EXPECT_EQ(marked_torch("..titan-cuda-module of LibTorch 2.11.0"), "2.11.0");
  EXPECT_EQ(marked_torch("titan-cuda-module of LibTorch 2.11.0+cu130"), "2.11.0");
  EXPECT_EQ(marked_torch("nothing of that kind"), "");
}

TEST(CudaModule, OtherLibraryIsRefused) {
  Dl_info libc{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getenv), &libc), 0);
  const auto module = CudaModule::open(libc.dli_fname, "2.11.0");
  EXPECT_EQ(module.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(module.status().message, HasSubstr("it is not the module of titan-train"));
}

}  // namespace
}  // namespace titan::train::cuda_module_test
