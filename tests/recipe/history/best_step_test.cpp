#include "recipe/history/best_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::best_step_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BestStep : public ::testing::Test {
 protected:
  BestStep() {
    for (const std::uint64_t step : {10, 20, 30}) {
      ckpt::testing::Synthetic made;
      made.step = step;
      EXPECT_TRUE(ckpt::testing::make_checkpoint(fs(), dir / "run/checkpoint", made).ok());
    }
  }
  static ckpt::Fs& fs() { return ckpt::posix_fs(); }
  static std::string validation(std::uint64_t step, const std::string& loss, int attempt = 1) {
    return R"({"schema":"titan.metrics/1","event":"validation","step":)" + std::to_string(step) + R"(,"attempt":)" +
           std::to_string(attempt) + R"(,"validation_loss":)" + loss + "}\n";
  }
  void metrics(const std::string& text) { dir.write("run/metrics.jsonl", text); }
  std::string step(int number) { return dir / ("run/checkpoint/step-000000" + std::to_string(number)); }

  train::ScratchDir dir;
};

TEST_F(BestStep, IsTheStepWithTheLowestLossThatIsThere) {
  metrics(validation(5, "0.5") + validation(10, "2") + validation(20, "1.5") + validation(30, "1.7"));
  EXPECT_EQ(*resolve_best(fs(), dir / "run@best"), step(20));
  EXPECT_EQ(*resolve_best(fs(), dir / "run/checkpoint@best"), step(20));
}

TEST_F(BestStep, OfEqualLossesTheNewer) {
  metrics(validation(10, "1") + validation(20, "1") + validation(30, "2"));
  EXPECT_EQ(*resolve_best(fs(), dir / "run@best"), step(20));
}

TEST_F(BestStep, ALossOfABranchThatWasLeftDoesNotCount) {
  metrics(validation(10, "2") + validation(20, "0.1") + R"({"event":"resume","step":10,"attempt":2})" + "\n" +
          validation(20, "3", 2) + validation(30, "2.5", 2));
  EXPECT_EQ(*resolve_best(fs(), dir / "run@best"), step(10));
}

TEST_F(BestStep, PassesOverDamageAndSaysSo) {
  metrics(validation(10, "2") + validation(20, "1.5"));
  std::filesystem::remove(step(20) + "/manifest.json");
  std::vector<std::string> skipped;
  EXPECT_EQ(*resolve_best(fs(), dir / "run@best", &skipped), step(10));
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_THAT(skipped[0], HasSubstr("step-00000020: "));
}

TEST_F(BestStep, WithoutALossThereIsNone) {
  EXPECT_EQ(resolve_best(fs(), dir / "run@best").status().code, ckpt::Code::kNotFound);
  metrics(validation(15, "1"));
  const ckpt::Status status = resolve_best(fs(), dir / "run@best").status();
  EXPECT_EQ(status.code, ckpt::Code::kNotFound);
  EXPECT_THAT(status.message, HasSubstr("has no best step"));
  EXPECT_THAT(status.hint, HasSubstr("validation.freq"));
}

TEST_F(BestStep, AnyOtherTextStaysAsItIs) {
  EXPECT_EQ(*resolve_best(fs(), "run@latest"), "run@latest");
  EXPECT_EQ(*resolve_best(fs(), "@best"), "@best");
  dir.write("odd@best/x", "");
  EXPECT_EQ(*resolve_best(fs(), dir / "odd@best"), dir / "odd@best") << "a path that is there wins";
}

}  // namespace
}  // namespace titan::recipe::best_step_test
