#include "libtrain/job/host/gemm.h"

#include <gtest/gtest.h>

#include "recipe/keys/config.h"

namespace titan::train::gemm_test {
namespace {

using recipe::CpuGemm;

TEST(Gemm, ACheckpointWithoutARowWasComputedByMkl) {
  EXPECT_EQ(stored_gemm({{"blas", "MKL 2024.2, oneDNN 3.10.2"}}), CpuGemm::kMkl);
  EXPECT_EQ(stored_gemm({{"blas", "MKL 2024.2, oneDNN 3.10.2"}, {"gemm", "onednn"}}), CpuGemm::kOneDnn);
}

TEST(Gemm, ACheckpointThatNoCpuComputedLeavesTheChoice) {
  EXPECT_EQ(stored_gemm({}), std::nullopt) << "imported";
  EXPECT_EQ(stored_gemm({{"device", "NVIDIA H100 80GB HBM3"}, {"driver", "13000"}}), std::nullopt);
}

TEST(Gemm, OnlyAnotherLibraryThanMklHasARowSoThatEarlierEnvironmentsAreEqual) {
  EXPECT_TRUE(gemm_rows(CpuGemm::kMkl).empty());
  EXPECT_EQ(gemm_rows(CpuGemm::kOneDnn), (ckpt::Settings{{"gemm", "onednn"}}));
  for (const CpuGemm gemm : {CpuGemm::kMkl, CpuGemm::kOneDnn}) {
    ckpt::Settings environment = {{"blas", "MKL 2024.2, oneDNN 3.10.2"}};
    for (const auto& row : gemm_rows(gemm)) environment.push_back(row);
    EXPECT_EQ(stored_gemm(environment), gemm);
  }
}

TEST(Gemm, TheConfigurationComesFirstThenTheCheckpoint) {
  recipe::Config config;
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kMkl, "AuthenticAMD family 26"), CpuGemm::kMkl);
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kOneDnn, "GenuineIntel family 6"), CpuGemm::kOneDnn);
  config.training.cpu_gemm = "mkl";
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kOneDnn, "AuthenticAMD family 26"), CpuGemm::kMkl);
  config.training.cpu_gemm = "onednn";
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kMkl, "GenuineIntel family 6"), CpuGemm::kOneDnn);
}

TEST(Gemm, IsChosenByWhoMadeTheProcessorAndItsFamily) {
  EXPECT_EQ(gemm_of("AuthenticAMD family 26"), CpuGemm::kOneDnn);
  EXPECT_EQ(gemm_of("AuthenticAMD family 27"), CpuGemm::kOneDnn);
  for (const char* other : {"AuthenticAMD family 25", "AuthenticAMD family 23", "AuthenticAMD family ", "AuthenticAMD",
                            "GenuineIntel family 6", "GenuineIntel family 26", "unknown", ""})
    EXPECT_EQ(gemm_of(other), CpuGemm::kMkl) << other;
  recipe::Config config;
  EXPECT_EQ(resolve_gemm(config, std::nullopt, "AuthenticAMD family 26"), CpuGemm::kOneDnn);
  EXPECT_EQ(resolve_gemm(config, std::nullopt, "GenuineIntel family 6"), CpuGemm::kMkl);
}

TEST(Gemm, AProcessorHasOneName) {
  EXPECT_EQ(processor_name(), processor_name());
  EXPECT_FALSE(processor_name().empty());
#if defined(__x86_64__)
  EXPECT_NE(processor_name().find(" family "), std::string::npos);
#endif
}

}  // namespace
}  // namespace titan::train::gemm_test
