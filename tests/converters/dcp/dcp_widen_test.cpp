// A state of a narrower type becomes float32 at its import, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/read/range_reader.h"
#include "converters/convert.h"
#include "tests/converters/dcp/mini.h"

namespace titan::convert::dcp {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Mini;

Result<ConversionReport> converted(ckpt::testing::MemFs& fs, const Mini& mini, bool dry_run = false) {
  testing::write_mini(fs, mini);
  ConvertOptions options;
  options.source = "/step-10";
  options.destination = "/step-00000010";
  options.config = testing::mini_config();
  options.dry_run = dry_run;
  return convert_checkpoint(fs, options);
}

float first_of(const CheckpointReader& reader, const ckpt::TensorRef& ref) {
  std::vector<float> value(1);
  EXPECT_TRUE(ckpt::RangeReader(reader, ref).read(0, std::as_writable_bytes(std::span(value))).ok());
  return value[0];
}

TEST(DcpWiden, AStateOfBfloat16IsFloat32InOurs) {
  for (const char* weights : {"bfloat16", "float32"}) {
    ckpt::testing::MemFs fs;
    const Result<ConversionReport> report = converted(fs, {.weights = weights, .moments = "bfloat16"});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_THAT(report->notes, Contains(HasSubstr("widened to float32")));
    const Result<CheckpointReader> reader = CheckpointReader::open(fs, "/step-00000010");
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    for (std::uint32_t i = 0; i < reader->manifest().parameters.size(); ++i) {
      for (const char* slot : {"", "exp_avg", "exp_avg_sq"}) {
        const ckpt::StoredTensor* stored = reader->manifest().stored({i, slot});
        ASSERT_NE(stored, nullptr);
        EXPECT_EQ(stored->dtype, DType::kF32);
      }
      EXPECT_EQ(first_of(*reader, {i, "exp_avg"}), first_of(*reader, {i, ""}) + 100);
    }
  }
}

TEST(DcpWiden, RefusesWhatFloat32DoesNotHoldAlsoInADryRun) {
  for (const bool dry_run : {false, true}) {
    ckpt::testing::MemFs fs;
    const Status refused = converted(fs, {.moments = "float64"}, dry_run).status();
    EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
    EXPECT_THAT(refused.message, HasSubstr("optimizer.state.layers.0.attention.wk.weight.exp_avg"));
    EXPECT_THAT(refused.hint, HasSubstr("--skip 'optimizer.*'"));
  }
}

}  // namespace
}  // namespace titan::convert::dcp
