
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::lr_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSrc = "/run/checkpoint/step-00000060";

class LrSet : public ::testing::Test {
 protected:
  LrSet() {
    Synthetic options;
    options.step = 60;
    options.dp = options.pp = 2;
    options.vocab = 301;  // more than the files that are new
    EXPECT_TRUE(make_checkpoint(fs_, "/run/checkpoint", options).ok());
    EXPECT_TRUE(fs_.make_dir("/out").ok());
    options_.src = "/run@60";
    options_.dst = "/out/step-00000060";
    options_.steps = 200;
    options_.policy = LrPolicy::kRescale;
    options_.writer = "test";
    options_.created = "2026-01-02T03:04:05Z";
  }

  Result<LrSetReport> set(Fs& fs) {
    TITAN_ASSIGN_OR_RETURN(LrSetReport report, plan_lr_set(fs, options_));
    TITAN_RETURN_IF_ERROR(write_lr_set(fs, options_, report));
    return report;
  }
  std::map<std::string, std::string> contents(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const std::string& name : tree(fs_, folder))
      all[name] = name.ends_with('/') ? "" : get_text(fs_, folder + "/" + name);
    return all;
  }

  MemFs fs_;
  LrSetOptions options_;
};

TEST_F(LrSet, WritesPhasesAcceptedSettingsConfigurationAndHistory) {
  options_.policy = LrPolicy::kRewarm;
  options_.peak = 5e-4;
  options_.warmup = 20;
  options_.decay_ratio.emplace(0.5);
  options_.decay_type = "sqrt";
  options_.min_factor = 0.2;
  const auto before = contents("/run");
  const auto report = set(fs_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const bool untouched = contents("/run") == before;
  EXPECT_TRUE(untouched) << "the source stays as it is";

  const auto source = CheckpointReader::open(fs_, kSrc), made = CheckpointReader::open(fs_, options_.dst);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const LrSettings next{5e-4, 20, 200, 0.5, "sqrt", 0.2};
  const auto lr = made->lr_schedule();
  EXPECT_EQ(lr->accepted, next);
  EXPECT_EQ(lr->phases, apply_policy(*source->lr_schedule(), 60, next, LrPolicy::kRewarm)->schedule.phases);
  for (std::uint64_t n = 1; n <= 60; ++n)
    EXPECT_EQ(lr_at(lr->phases, n), lr_at(source->lr_schedule()->phases, n)) << "the past stays";

  const auto train = made->train_state();
  for (const auto& row : lr_rows(next)) EXPECT_THAT(train->accepted, Contains(row));
  EXPECT_EQ(train->tokens, source->train_state()->tokens);
  EXPECT_THAT(train->attempts.back().notes, ElementsAre(HasSubstr("lr set after step 60: rewarm to 200 steps; ")));

  const Manifest& manifest = made->manifest();
  EXPECT_EQ(setting(manifest.config, "training.steps"), "200");
  EXPECT_EQ(setting(manifest.config, "optimizer.lr"), "0.0005");
  EXPECT_EQ(setting(manifest.config, "lr_scheduler.decay_ratio"), "0.5");
  EXPECT_EQ(setting(manifest.config, "lr_scheduler.total_steps"), kNotSet) << "it was not pinned";
  EXPECT_EQ(setting(manifest.config, "model.dim"), "16");
  EXPECT_EQ(manifest.derived_from, (DerivedFrom{source->manifest().id, 60, kSrc}));
  EXPECT_NE(manifest.id, source->manifest().id);
  EXPECT_EQ(manifest.id, checkpoint_id(manifest, *lr, *made->data_position(), train->tokens));
  EXPECT_EQ(manifest.component("model")->digest, source->manifest().component("model")->digest);
  const auto verified = verify_checkpoint(fs_, options_.dst);
  EXPECT_TRUE(verified.ok() && verified->damage.empty());
  EXPECT_TRUE(scan_run(fs_, "/out")->steps[0].full);
}

TEST_F(LrSet, OnlyThreeFilesAreNewAndPruningTheSourceLeavesTheResultWhole) {
  const auto report = set(fs_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  for (const CarriedFile& file : report->files) {
    EXPECT_EQ(file.method, LinkMethod::kLink) << file.member;
    EXPECT_TRUE(file.member.ends_with(".h5") || file.member == "dataloader.json") << file.member;
  }
  ASSERT_TRUE(delete_step(fs_, "/run/checkpoint", "step-00000060", "test").ok());
  const auto verified = verify_checkpoint(fs_, options_.dst);
  EXPECT_TRUE(verified.ok() && verified->damage.empty());
}

TEST_F(LrSet, AKeepThatKeepsTheEndKeepsTheId) {
  options_.policy = LrPolicy::kKeep;
  const auto report = set(fs_);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->new_id, report->old_id) << "accepted settings are not in the id";
}

TEST_F(LrSet, TheTomlLinesAgreeWithTheAcceptedSettings) {
  options_.policy = LrPolicy::kConfig;
  options_.peak = 3e-4;
  const auto report = plan_lr_set(fs_, options_);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->toml,
            "[training]\nsteps = 200\n\n[optimizer]\nlr = 0.0003\n\n[lr_scheduler]\nwarmup_steps = 10\n# decay_ratio: "
            "leave it out, it is not set\n"
            "decay_type = \"cosine\"\nmin_lr_factor = 0.1\n");
}

TEST_F(LrSet, BadInputWritesNothing) {
  struct {
    const char* name;
    void (*spoil)(LrSetOptions&);
    Code code;
    const char* message;
  } const cases[] = {
      {"keep with a new peak", [](LrSetOptions& o) { o.policy = LrPolicy::kKeep, o.peak = 1; }, Code::kInvalid,
       "keep does not take"},
      {"steps behind the checkpoint", [](LrSetOptions& o) { o.steps = 59; }, Code::kIncompatible,
       "before the checkpoint"},
      {"nothing left to rescale to", [](LrSetOptions& o) { o.steps = 60; }, Code::kInvalid, "not after step 60"},
      {"DST = SRC", [](LrSetOptions& o) { o.dst = kSrc; }, Code::kInvalid, "is the source"},
      {"DST exists", [](LrSetOptions& o) { o.dst = "/out"; }, Code::kInvalid, "is not a checkpoint"},
      {"no such source", [](LrSetOptions& o) { o.src = "/run@61"; }, Code::kNotFound, "no step 61"},
      {"a negative peak", [](LrSetOptions& o) { o.peak = -1; }, Code::kInvalid, "--peak"},
      {"a ratio above 1", [](LrSetOptions& o) { o.decay_ratio.emplace(1.5); }, Code::kInvalid, "--decay-ratio"},
      {"an unknown decay", [](LrSetOptions& o) { o.decay_type = "cubic"; }, Code::kInvalid, "--decay-type"},
      {"a floor above the peak", [](LrSetOptions& o) { o.min_factor = 2; }, Code::kInvalid, "--min-factor"},
  };
  const auto before = contents("/");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const LrSetOptions good = options_;
    c.spoil(options_);
    const auto report = set(fs_);
    options_ = good;
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().code, c.code) << report.status().to_string();
    EXPECT_THAT(report.status().message, HasSubstr(c.message));
  }
  const bool untouched = contents("/") == before;
  EXPECT_TRUE(untouched);
}

TEST_F(LrSet, AnyFailedCallLeavesTheSourceAndNoHalfMadeResult) {
  const auto before = contents("/run/checkpoint/step-00000060");
  for (std::uint64_t k = 1;; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    FailingFs failing(fs_);
    failing.arm({.k = k, .repeat = Repeat::kSticky, .error = EIO});
    const auto report = set(failing);
    const bool untouched = contents("/run/checkpoint/step-00000060") == before;
    ASSERT_TRUE(untouched);
    const auto verified = verify_checkpoint(fs_, options_.dst);
    const bool there = fs_.stat(options_.dst).ok();
    EXPECT_EQ(there, verified.ok() && verified->damage.empty());
    ASSERT_TRUE(remove_tree(fs_, "/out").ok());
    ASSERT_TRUE(fs_.make_dir("/out").ok());
    if (failing.fired()) continue;
    EXPECT_TRUE(report.ok());
    EXPECT_GT(k, 100u);
    break;
  }
}

TEST_F(LrSet, ShowComparesAConfigurationUnderEveryPolicy) {
  LrConfig config{"c.toml", {1e-3, 10, 100, std::nullopt, "cosine", 0.1}, 100, false};
  auto report = lr_show(fs_, "/run@60", config);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->changed, ::testing::IsEmpty());
  EXPECT_THAT(report->previews, ::testing::IsEmpty());
  EXPECT_EQ(report->last, 100u);
  config.settings.total_steps = config.training_steps = 200;
  report = lr_show(fs_, "/run@60", config);
  EXPECT_THAT(report->changed, ElementsAre("lr_scheduler.total_steps: 100 -> 200"));
  ASSERT_EQ(report->previews.size(), 5u);
  for (const LrPreview& preview : report->previews) {
    EXPECT_TRUE(preview.refused.ok()) << policy_name(preview.policy);
    EXPECT_EQ(preview.last, 200u);
  }
  config.settings.peak = 1;
  report = lr_show(fs_, "/run@60", config);
  EXPECT_FALSE(report->previews[0].refused.ok()) << "keep does not take a new peak";
}

}  // namespace
}  // namespace titan::ckpt::lr_test
