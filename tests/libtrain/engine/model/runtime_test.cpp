#include "libtrain/engine/model/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace titan::train::runtime_test {
namespace {

TEST(Runtime, SetsStrictModeAndThreadsAndMayBeCalledAgain) {
  setup_determinism(2);
  EXPECT_EQ(at::get_num_threads(), 2);
  setup_determinism(1);
  EXPECT_EQ(at::get_num_threads(), 1);
  EXPECT_EQ(at::get_num_interop_threads(), 1);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicAlgorithmsWarnOnly());
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
}

TEST(Runtime, NamesLibrariesAndProcessor) {
  EXPECT_EQ(torch_version().substr(0, 5), "2.11.");
  EXPECT_EQ(blas_name().find("unknown"), std::string::npos) << blas_name();
  EXPECT_NE(cpu_isa().find(" on "), std::string::npos);
  RecordProperty("blas", blas_name());
  RecordProperty("isa", cpu_isa());
}

}  // namespace
}  // namespace titan::train::runtime_test
