#include "libtrain/job/start/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::train {
namespace {

using ::testing::HasSubstr;

ckpt::Manifest with(ckpt::DType weights, ckpt::DType moments) {
  ckpt::Manifest manifest;
  ckpt::ParameterRecord& record = manifest.parameters.emplace_back();
  record.meta = {"norm.weight", {8}};
  record.model = ckpt::StoredTensor{.dtype = weights};
  for (const char* slot : {ckpt::kExpAvg, ckpt::kExpAvgSq}) record.slots.push_back({slot, {.dtype = moments}});
  return manifest;
}

TEST(Precision, AResumeNeedsFloat32OfWhatItLoads) {
  using enum ckpt::DType;
  EXPECT_TRUE(check_precision(with(kF32, kF32), "p", true).ok());
  EXPECT_TRUE(check_precision(with(kF32, kBF16), "p", false).ok()) << "moments that begin anew";
  const ckpt::Status weights = check_precision(with(kBF16, kF32), "p", false);
  EXPECT_EQ(weights.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(weights.message, HasSubstr("p: norm.weight is stored as"));
  EXPECT_THAT(weights.hint, HasSubstr("--init-from p"));
  for (const ckpt::DType dtype : {kBF16, kF16, kF64})
    EXPECT_THAT(check_precision(with(kF32, dtype), "p", true).message, HasSubstr("norm.weight.exp_avg is stored as"));
}

}  // namespace
}  // namespace titan::train
