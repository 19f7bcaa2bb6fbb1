#include "converters/finite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "converters/convert.h"
#include "tests/converters/dcp/mini.h"

namespace titan::convert::finite_test {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

Status checked(const std::vector<float>& values, std::string_view slot) {
  return check_state(std::as_bytes(std::span(values)), 100, "layers.0.w", slot, "/there");
}

TEST(Finite, NamesTheFirstElementThatIsBad) {
  EXPECT_TRUE(checked({1, -2, 0, -0.0F, 3e38F, 1e-44F}, "exp_avg").ok());
  EXPECT_TRUE(checked({1, 0, -0.0F, 3e38F}, "exp_avg_sq").ok()) << "minus zero is zero";
  EXPECT_TRUE(checked({}, "").ok());
  const Status nan = checked({1, kNan, kInf}, "exp_avg");
  EXPECT_EQ(nan.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(nan.message, HasSubstr("element 101 of layers.0.w of /there is nan"));
  EXPECT_THAT(nan.hint, HasSubstr("--skip 'optimizer.*'"));
  EXPECT_THAT(checked({-kInf}, "exp_avg_sq").message, HasSubstr("is -inf"));
  EXPECT_THAT(checked({4, -1e-6F}, "exp_avg_sq").message, HasSubstr("a mean of squares is never negative"));
  EXPECT_THAT(checked({kInf}, "").hint, HasSubstr("older checkpoint"));
}

Result<ConversionReport> converted(const std::string& tensor, float value, std::vector<std::string> skip = {},
                                   bool run = true) {
  ckpt::testing::MemFs fs;
  dcp::testing::write_mini(fs, {.values = {{tensor, value}}});
  ConvertOptions options;
  options.source = "/step-10";
  options.destination = "/step-00000010";
  if (run) options.config = dcp::testing::mini_config();
  options.skip = std::move(skip);
  Result<ConversionReport> report = convert_checkpoint(fs, options);
  EXPECT_EQ(fs.stat("/step-00000010").ok(), report.ok()) << "nothing is left behind";
  return report;
}

TEST(Finite, AStateThatNoRunCanGoOnWithIsNotImported) {
  const std::string moment = "optimizer.state.layers.0.attention.wk.weight.exp_avg";
  for (const auto& [tensor, value] : std::vector<std::pair<std::string, float>>{
           {moment, kNan}, {moment + "_sq", kInf}, {moment + "_sq", -1}, {"layers.0.attention.wk.weight", kNan}}) {
    const Status status = converted(tensor, value).status();
    EXPECT_EQ(status.code, ckpt::Code::kIncompatible) << tensor << ": " << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(tensor));
  }
  EXPECT_TRUE(converted(moment, -5).ok()) << "a mean may be negative";
  for (const auto& [tensor, value, said] :
       {std::tuple{moment, kNan, true}, {moment + "_sq", -1.0F, true}, {moment, -5.0F, false}}) {
    const auto tensors = converted(tensor, value, {}, /*run=*/false);
    ASSERT_TRUE(tensors.ok()) << tensors.status().to_string();
    const bool noted = std::ranges::any_of(tensors->notes, [&](const std::string& note) {
      return note.find(tensor) != std::string::npos && note.ends_with("it is written as it is");
    });
    EXPECT_EQ(noted, said) << "moments without a run are written, and it is said";
  }
  EXPECT_TRUE(converted(moment, kNan, {"optimizer.*"}).ok()) << "as the hint says";
}

}  // namespace
}  // namespace titan::convert::finite_test
