#include "libtrain/start/gemm.h"

#include <gtest/gtest.h>

namespace titan::train {
namespace {

using recipe::CpuGemm;

TEST(Gemm, ACheckpointWithoutARowWasComputedByMkl) {
  EXPECT_EQ(stored_gemm({{"blas", "MKL 2024.2, oneDNN 3.10.2"}}), CpuGemm::kMkl);
  EXPECT_EQ(stored_gemm({{"gemm", "mkl"}}), CpuGemm::kMkl);
  EXPECT_EQ(stored_gemm({{"gemm", "onednn"}}), CpuGemm::kOneDnn);
}

TEST(Gemm, OnlyAnotherLibraryThanMklHasARowSoThatEarlierEnvironmentsAreEqual) {
  EXPECT_TRUE(gemm_rows(CpuGemm::kMkl).empty());
  EXPECT_EQ(gemm_rows(CpuGemm::kOneDnn), (ckpt::Settings{{"gemm", "onednn"}}));
  for (const CpuGemm gemm : {CpuGemm::kMkl, CpuGemm::kOneDnn}) EXPECT_EQ(stored_gemm(gemm_rows(gemm)), gemm);
}

TEST(Gemm, TheConfigurationComesFirstThenTheCheckpoint) {
  recipe::Config config;
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kMkl, "AuthenticAMD"), CpuGemm::kMkl);
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kOneDnn, "GenuineIntel"), CpuGemm::kOneDnn);
  config.training.cpu_gemm = "mkl";
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kOneDnn, "AuthenticAMD"), CpuGemm::kMkl);
  config.training.cpu_gemm = "onednn";
  EXPECT_EQ(resolve_gemm(config, CpuGemm::kMkl, "GenuineIntel"), CpuGemm::kOneDnn);
}

TEST(Gemm, IsChosenByWhoMadeTheProcessor) {
  EXPECT_EQ(gemm_of("AuthenticAMD"), CpuGemm::kOneDnn);
  EXPECT_EQ(gemm_of("GenuineIntel"), CpuGemm::kMkl);
  EXPECT_EQ(gemm_of("unknown"), CpuGemm::kMkl);
  EXPECT_EQ(processor_vendor(), processor_vendor());
  EXPECT_FALSE(processor_vendor().empty());
}

}  // namespace
}  // namespace titan::train
