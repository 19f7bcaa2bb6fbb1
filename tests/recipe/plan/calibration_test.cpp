#include "recipe/plan/calibration.h"

#include <gmock/gmock.h>

namespace titan::recipe::calibration_test {
namespace {

using testing::HasSubstr;

std::string report(const std::string& calibration, const std::string& rehearsal = "false",
                   const std::string& schema = "titan.gpu-check/2") {
  return "{\"schema\": \"" + schema + "\", \"device\": \"cuda\", \"rehearsal\": " + rehearsal +
         ", \"failed\": 0, \"calibration\": " + calibration + ", \"checks\": [{\"check\": 1}]}\n";
}

std::string refusal(const std::string& text) {
  DeviceFigures figures = device_figures("h100").value();
  const ckpt::Status status = calibrate(figures, text, "report.json");
  EXPECT_EQ(status.code, ckpt::Code::kInvalid) << status.to_string();
  EXPECT_THAT(status.hint, HasSubstr("scripts/gpu-check"));
  EXPECT_EQ(figures.compute_share, device_figures("h100")->compute_share);
  EXPECT_FALSE(figures.compute_measured || figures.link_measured);
  return status.message;
}

TEST(Calibration, SetsTheSharesThatWereMeasured) {
  DeviceFigures figures = device_figures("h100").value();
  ASSERT_TRUE(calibrate(figures, report(R"({"device": "h100", "compute_share": 0.47})"), "report.json").ok());
  EXPECT_EQ(figures.compute_share, 0.47);
  EXPECT_EQ(figures.link_share, device_figures("h100")->link_share);
  EXPECT_TRUE(figures.compute_measured);
  EXPECT_FALSE(figures.link_measured) << "the report does not have it";
  ASSERT_TRUE(
      calibrate(figures, report(R"({"device": "h100", "compute_share": 0.4, "link_share": 0.7})"), "report.json").ok());
  EXPECT_EQ(figures.link_share, 0.7);
  EXPECT_TRUE(figures.link_measured);
}

TEST(Calibration, RefusesWhatSaysNothingOfThisDevice) {
  EXPECT_THAT(refusal("loss: 3"), HasSubstr("'report.json' is no report of scripts/gpu-check: "));
  EXPECT_THAT(refusal("{}"), HasSubstr("no report of scripts/gpu-check"));
  EXPECT_THAT(refusal(report("{}", "false", "titan.gpu-check/1")), HasSubstr("expected \"titan.gpu-check/2\""));
  EXPECT_THAT(refusal(report(R"({"device": "h100", "compute_share": 0.4})", "true")), HasSubstr("rehearsal"));
  EXPECT_THAT(refusal(report("{}")), HasSubstr("has no calibration"));
  EXPECT_THAT(refusal(report(R"({"device": "h200", "compute_share": 0.4})")),
              HasSubstr("is of the device h200, the plan of h100"));
  for (const char* share : {"0", "-1", "1.5"})
    EXPECT_THAT(refusal(report("{\"device\": \"h100\", \"compute_share\": " + std::string(share) + "}")),
                HasSubstr("a share that is not above 0"));
}

}  // namespace
}  // namespace titan::recipe::calibration_test
