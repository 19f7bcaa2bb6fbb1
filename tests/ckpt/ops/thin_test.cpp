#include "ckpt/ops/thin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ckpt/ops/prune.h"
#include "ckpt/ops/strip.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/recover.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::thin_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kDir = "/run/checkpoint";

class Thin : public ::testing::Test {
 protected:
  Thin() {
    for (const std::uint64_t step : {0, 10, 20, 30, 40}) {
      Synthetic made;
      made.step = made.seed = step;
      made.dp = 2;
      EXPECT_TRUE(make_checkpoint(fs_, kDir, made).ok());
    }
  }
  static std::string path(int step) { return std::string(kDir) + "/" + step_name(static_cast<std::uint64_t>(step)); }
  bool full(int step) {
    const auto reader = CheckpointReader::open(fs_, path(step));
    EXPECT_TRUE(reader.ok()) << step << ": " << reader.status().to_string();
    return reader.ok() && missing_components(reader->manifest()).empty();
  }
  Result<PruneReport> prune(PruneRules rules) {
    PruneOptions options;
    options.run = "/run";
    options.rules = std::move(rules);
    options.writer = "test thin";
    return prune_run(fs_, options);
  }

  MemFs fs_;
};

TEST_F(Thin, AStepWithAFileOfSomebodyElseStaysWholeAndSaysSo) {
  ASSERT_TRUE(put_text(fs_, path(20) + "/model/NOTES.md", "mine").ok());
  const auto report = prune({.thin = 2});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(full(20));
  EXPECT_FALSE(full(10)) << "the others are thinned";
  EXPECT_EQ(get_text(fs_, path(20) + "/model/NOTES.md"), "mine");
  std::vector<std::string> whys;
  for (const PrunedStep& step : report->steps)
    if (step.step == 20) whys.push_back(step.why);
  EXPECT_THAT(whys, ElementsAre("not thinned: it also holds 'model/NOTES.md'"));
  EXPECT_EQ(thin_step(fs_, path(20), {.writer = "test", .created = "", .cancel = {}}).code, Code::kInvalid);
}

TEST_F(Thin, OlderStepsKeepTheirModelAndNothingElse) {
  const auto before = CheckpointReader::open(fs_, path(20));
  const ComponentEntry model = *before->manifest().component(kModel);
  const auto report = prune({.thin = 2});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(full(40) && full(30)) << "the newest two";
  EXPECT_TRUE(full(0)) << "the start of the run";
  EXPECT_FALSE(full(20) || full(10));
  const auto after = CheckpointReader::open(fs_, path(20));
  ASSERT_EQ(after->manifest().components.size(), 1u);
  EXPECT_EQ(*after->manifest().component(kModel), model);
  EXPECT_EQ(after->manifest().writer, "test thin");
  EXPECT_TRUE(verify_checkpoint(fs_, path(20))->damage.empty());
  EXPECT_EQ(fs_.stat(path(20) + "/optimizer").status().code, Code::kNotFound);
  EXPECT_EQ(fs_.stat(path(20) + ".tmp-rewrite").status().code, Code::kNotFound);
  EXPECT_GT(report->bytes_freed, 0u);
  EXPECT_EQ(report->bytes_freed, report->bytes_gone);
}

TEST_F(Thin, TheIdIsThatOfAStrippedCopy) {
  StripOptions options;
  options.src = path(10);
  options.dst = "/copy";
  options.keep = StripKeep::kModel;
  auto copy = plan_strip(fs_, options);
  ASSERT_TRUE(copy.ok() && write_strip(fs_, options, *copy).ok());
  ASSERT_TRUE(prune({.thin = 1}).ok());
  EXPECT_EQ(CheckpointReader::open(fs_, path(10))->manifest().id, copy->new_id);
}

TEST_F(Thin, SparesWhatIsPinnedOrAskedFor) {
  ASSERT_TRUE(put_text(fs_, path(10) + "/.keep", "").ok());
  const auto report = prune({.keep = {20}, .thin = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(full(10) && full(20));
  EXPECT_EQ(report->steps.at(3).why, "pinned by .keep") << "by the plan, not at the last moment";
  EXPECT_FALSE(full(30)) << "beside --thin, --keep deletes nothing";
}

TEST_F(Thin, WithARuleItThinsWhatStays) {
  const auto report = prune({.keep_last = 3, .thin = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(full(40));
  EXPECT_FALSE(full(30) || full(20));
  EXPECT_EQ(fs_.stat(path(10)).status().code, Code::kNotFound);
}

TEST_F(Thin, ADamagedNewestStepIsReadFirstAndKeepsOlderOnesWhole) {
  const auto reader = CheckpointReader::open(fs_, path(40));
  const std::string shard = path(40) + "/" + reader->manifest().files[0].path;
  std::string bytes = get_text(fs_, shard);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(fs_.remove_file(shard).ok() && put_text(fs_, shard, bytes).ok());
  const auto report = prune({.thin = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->blocked.code, Code::kCorrupt) << report->blocked.to_string();
  EXPECT_TRUE(full(30) && full(20));
}

// From any call on every one fails: what lies at the step's name then is the whole step or the thin one, or is put
// back.
TEST_F(Thin, AFailureAtAnyCallLeavesAStep) {
  bool fired = true;
  std::uint64_t k = 0;
  while (fired && k < 1000) {
    MemFs fs;
    ASSERT_TRUE(make_checkpoint(fs, kDir, {.step = 20, .layers = 1}).ok());
    FailingFs failing(fs);
    failing.arm({.k = ++k, .repeat = Repeat::kSticky});
    const Status status = thin_step(failing, path(20), {"test", "", {}});
    fired = failing.fired();
    EXPECT_TRUE(fired || status.ok()) << status.to_string();
    EXPECT_FALSE(failing.synced_after_failure());
    (void)recover_folder(fs, kDir);
    ASSERT_TRUE(CheckpointReader::open(fs, path(20)).ok()) << "call " << k;
    ASSERT_TRUE(verify_checkpoint(fs, path(20))->damage.empty()) << "call " << k;
  }
  EXPECT_GT(k, 30u);
}

}  // namespace
}  // namespace titan::ckpt::thin_test
