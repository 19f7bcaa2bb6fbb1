#include "recipe/change/continuation.h"
#include "ckpt/base/exit_code.h"
#include "ckpt/base/table_line.h"
#include "ckpt/base/text.h"
#include "recipe/plan/run_plan.h"

#include <gmock/gmock.h>

#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/mixture.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::continuation_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A run of 100 steps, 16 sequences of 128 tokens each, stopped at step 60; 700 samples per epoch.
const std::vector<std::string> kBase = {"--training.seq_len=128",          "--training.steps=100",
                                        "--lr_scheduler.warmup_steps=10",  "--training.local_batch_size=4",
                                        "--training.global_batch_size=16", "--optimizer.lr=1e-3",
                                        "--lr_scheduler.decay_type=cosine"};

ckpt::DataPosition dataset(const Config& config, const char* content = "a") {
  ckpt::DataPosition data;
  data.kind = config.training.dataset;
  data.tokenizer = data.kind == "text" ? "byte" : "none";
  data.seq_len = static_cast<std::uint64_t>(config.training.seq_len);
  data.sample_stride = static_cast<std::uint64_t>(config.training.sample_stride.value_or(config.training.seq_len));
  data.shuffle = config.training.shuffle;
  data.samples_per_epoch = 700;
  data.seed = 42;
  data.files = {{"a.txt", 1000, ckpt::digest_of(content)}};
  return data;
}

struct Case {
  Config config;
  RunPlan plan;
};

Case setup(const std::vector<std::string>& flags) {
  std::vector<std::string> all = kBase;
  all.insert(all.end(), flags.begin(), flags.end());
  Case s{load_ok("", all).config, {}};
  const Result<RunPlan> plan = make_run_plan(s.config, 1);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  s.plan = *plan;
  return s;
}

StoredRun stored_run() {
  const Case s = setup({});
  StoredRun run;
  run.path = "runs/a/checkpoint/step-00000060";
  run.optimizer_step = 60;
  run.lr = ckpt::schedule_from(s.plan.lr);
  run.data = dataset(s.config);
  run.data.samples = 960;
  run.state.step = 60;
  run.state.tokens = 60 * 16 * 128;
  run.state.seed = 42;
  run.state.accepted = first_settings(s.config, s.plan, run.data, 42, {});
  return run;
}

Continuation go_on(const StoredRun& stored, const std::vector<std::string>& flags,
                   const std::vector<std::string>& allow = {}, const char* content = "a") {
  const Case s = setup(flags);
  const Result<Permission> permission = read_permission(s.config, allow);
  EXPECT_TRUE(permission.ok()) << permission.status().to_string();
  return continue_run(stored, s.config, s.plan, dataset(s.config, content), 42, *permission);
}

/// A mixture of sets of 700 and 300 samples with these shares of 100.
ckpt::DataPosition mixed(const Config& config, std::uint64_t percent, const char* second = "b") {
  ckpt::DataPosition data = dataset(config);
  data.files.push_back({"b.txt", 500, ckpt::digest_of(second)});
  const std::vector<std::uint64_t> shares =
      ckpt::shares_of(std::vector{static_cast<double>(percent), 100 - static_cast<double>(percent)});
  data.sets = {{.name = "a", .share = shares[0], .samples = 700, .files = 1},
               {.name = "b", .share = shares[1], .samples = 300, .files = 1}};
  data.samples_per_epoch = 1000;
  return data;
}

Continuation mix_on(const StoredRun& stored, const ckpt::DataPosition& data,
                    const std::vector<std::string>& allow = {}) {
  const Case s = setup({});
  const Result<Permission> permission = read_permission(s.config, allow);
  EXPECT_TRUE(permission.ok()) << permission.status().to_string();
  return continue_run(stored, s.config, s.plan, data, 42, *permission);
}

StoredRun stored_mixture() {
  const Case s = setup({});
  StoredRun run = stored_run();
  run.data = mixed(s.config, 75);
  run.data.samples = 960;
  run.state.accepted = first_settings(s.config, s.plan, run.data, 42, {});
  return run;
}

TEST(Continuation, AMixtureGoesOnWithItsSetsInAnyOrder) {
  const StoredRun stored = stored_mixture();
  const Config config = setup({}).config;
  ckpt::DataPosition turned = mixed(config, 75);
  std::swap(turned.sets[0], turned.sets[1]);
  std::swap(turned.files[0], turned.files[1]);
  for (const ckpt::DataPosition& data : {mixed(config, 75), turned}) {
    const Continuation run = mix_on(stored, data);
    EXPECT_TRUE(run.verdict.ok()) << run.verdict.to_string();
    EXPECT_TRUE(run.changes.empty());
    EXPECT_EQ(run.data, stored.data);
  }
}

TEST(Continuation, OtherSharesNeedPermissionAndHoldFromTheNextStepOn) {
  const StoredRun stored = stored_mixture();
  const Config config = setup({}).config;
  const Continuation refused = mix_on(stored, mixed(config, 50));
  EXPECT_EQ(refused.verdict.code, ckpt::Code::kIncompatible);
  ASSERT_EQ(refused.changes.size(), 1u);
  EXPECT_THAT(refused.changes[0].drift.stored, HasSubstr("a 75 %, b 25 %"));
  EXPECT_THAT(refused.changes[0].drift.config, HasSubstr("a 50 %, b 50 %"));
  EXPECT_THAT(refused.changes[0].what,
              HasSubstr("from step 61 on: a 75 -> 50 %, b 25 -> 50 %; sets with unchanged contents continue"));
  EXPECT_THAT(refused.verdict.hint, HasSubstr("--allow training.datasets"));

  const Continuation run = mix_on(stored, mixed(config, 50), {"training.datasets"});
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.samples, 960u);
  EXPECT_EQ(run.data.epoch_base, 960u);
  EXPECT_EQ(run.data.sets[0].drawn, 720u);
  EXPECT_EQ(run.data.sets[1].drawn, 240u);
  EXPECT_EQ(ckpt::Mixture(run.data).drawn(980), (std::vector<std::uint64_t>{730, 250}));
  ASSERT_EQ(run.changed.size(), 1u);
  EXPECT_THAT(run.changed[0], HasSubstr("training.datasets: "));
  EXPECT_EQ(run.other_sets, "data: a 75 -> 50 %, b 25 -> 50 %");
  EXPECT_EQ(mix_on(stored, stored.data).other_sets, "");
}

TEST(Continuation, ChangedBytesOfASetAreAnotherMixtureAndTheSetBegins) {
  const StoredRun stored = stored_mixture();
  const ckpt::DataPosition data = mixed(setup({}).config, 75, "changed");
  EXPECT_EQ(mix_on(stored, data).verdict.code, ckpt::Code::kIncompatible);
  const Continuation run = mix_on(stored, data, {"training.datasets"});
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.sets[0].drawn, 720u);
  EXPECT_EQ(run.data.sets[1].drawn, 0u);
}

TEST(Continuation, ASingleSetGoesOnWithinAMixture) {
  const StoredRun stored = stored_run();  // 960 samples of 700 an epoch
  const ckpt::DataPosition data = mixed(setup({}).config, 75);
  EXPECT_EQ(mix_on(stored, data).verdict.code, ckpt::Code::kIncompatible);
  const Continuation run = mix_on(stored, data, {"training.datasets"});
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.sets[0].drawn, 960u);
  EXPECT_EQ(run.data.sets[1].drawn, 0u);
}

TEST(Continuation, WhatCutsOrOrdersSamplesAnewBeginsANewPassOfEachSet) {
  const StoredRun stored = stored_mixture();
  using Flags = std::vector<std::string>;
  const std::vector<std::pair<Flags, Flags>> cases = {
      {{"--training.shuffle=false"}, {"training.shuffle"}},
      {{"--training.pack=whole"}, {"training.pack"}},
      {{"--training.pack=whole", "--training.document_end=7"}, {"training.pack", "training.document_end"}}};
  for (const auto& [flags, allow] : cases) {
    const Case s = setup(flags);
    const Result<Permission> permission = read_permission(s.config, allow);
    ASSERT_TRUE(permission.ok()) << permission.status().to_string();
    const Continuation run = continue_run(stored, s.config, s.plan, mixed(s.config, 75), 42, *permission);
    ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
    EXPECT_EQ(run.data.epoch_base, 960u);
    EXPECT_EQ(run.data.sets[0].drawn, 1400u);
    EXPECT_EQ(run.data.sets[1].drawn, 300u);
    for (const Change& change : run.changes) {
      EXPECT_EQ(change.effect, ChangeEffect::kNewEpoch) << change.key;
    }
    EXPECT_THAT(run.changes[0].what, HasSubstr("each set begins a new pass at step 61"));
    for (std::size_t i = 1; i < run.changes.size(); ++i) EXPECT_EQ(run.changes[i].what, "as " + run.changes[0].key);
  }
}

TEST(Continuation, EpochsOfASetAreNoChangeOfTheSetsWhereItsSamplesAreCutOtherwise) {
  StoredRun stored = stored_mixture();
  stored.data.sets[0].most = 700;
  const Case before = setup({}), s = setup({"--training.pack=whole"});
  stored.state.accepted = first_settings(before.config, before.plan, stored.data, 42, {});
  ckpt::DataPosition there = mixed(s.config, 75);
  there.sets[0].samples = there.sets[0].most = 900;
  there.samples_per_epoch = 1200;
  const auto go = [&](const ckpt::DataPosition& data) {
    return continue_run(stored, s.config, s.plan, data, 42, *read_permission(s.config, {"training.pack"}));
  };
  const Continuation run = go(there);
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  ASSERT_EQ(run.changes.size(), 1u);
  EXPECT_EQ(run.data.sets[0].drawn, 900u);
  there.sets[0].most = 1800;
  const Continuation other = go(there);
  EXPECT_EQ(other.verdict.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(other.changes[0].what, Not(HasSubstr("continue at their positions")));
  EXPECT_THAT(other.changes[0].what, HasSubstr("a is dropped after 2 epochs"));
}

TEST(Continuation, ChangedSetsAreNamedAlsoWhereTheChangeIsRefused) {
  const StoredRun stored = stored_mixture();
  const ckpt::DataPosition data = mixed(setup({}).config, 50, "changed");
  const Continuation refused = mix_on(stored, data);
  ASSERT_EQ(refused.changes.size(), 1u);
  EXPECT_THAT(
      refused.changes[0].what,
      HasSubstr("on: a 75 -> 50 %, b 25 -> 50 %; other contents under the same file name, which begin: b (240 "
                "samples drawn before); sets with unchanged contents continue at their positions, others begin"));
  EXPECT_EQ(refused.data.sets[0].share, data.sets[0].share) << "what was asked for is shown";
  EXPECT_EQ(refused.data.sets[0].drawn, 720u);
}

TEST(Continuation, ASingleSetBehindAMixtureBeginsAPassThatNoneOfItsSetsHasGiven) {
  StoredRun stored = stored_mixture();
  stored.data.samples = 9600;  // 7,200 of the first, 700 a pass
  const Case s = setup({});
  const Continuation run =
      continue_run(stored, s.config, s.plan, stored_run().data, 42, *read_permission(s.config, {"training.datasets"}));
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.first_epoch, 11u) << "of the mixture it would be 10";
  ASSERT_EQ(run.changes.size(), 2u);
  EXPECT_EQ(run.changes[0].what,
            "from step 61 on the data are one set, which begins a new pass: a 75 -> 100 %; left out: b (2400 samples "
            "drawn), which loses its place");
  EXPECT_EQ(run.changes[1].what, "as training.dataset_path");
}

TEST(Continuation, SamplesThatAreLeftOutBehindThePositionAreNoSetting) {
  const Case s = setup({});
  StoredRun stored = stored_run();  // at sample 960
  const auto excluding = [&](const ckpt::SampleRanges& ranges) {
    ckpt::DataPosition data = dataset(s.config);
    data.excluded = ranges;
    return data;
  };
  stored.state.accepted = first_settings(s.config, s.plan, excluding({{32, 8}, {950, 50}}), 42, {});
  stored.data.excluded = {{960, 40}};
  const auto go = [&](const ckpt::SampleRanges& ranges) {
    return continue_run(stored, s.config, s.plan, excluding(ranges), 42, {});
  };
  for (const ckpt::SampleRanges& ranges : {ckpt::SampleRanges{{950, 50}}, {{960, 40}}, {{0, 5}, {950, 50}}}) {
    const Continuation run = go(ranges);
    EXPECT_TRUE(run.verdict.ok()) << run.verdict.to_string();
    EXPECT_TRUE(run.changes.empty());
    EXPECT_EQ(run.data.excluded, stored.data.excluded);
  }
  EXPECT_EQ(go({}).verdict.code, ckpt::Code::kIncompatible) << "those ahead would be read";
  EXPECT_EQ(go({{950, 51}}).verdict.code, ckpt::Code::kIncompatible);
}

TEST(Continuation, AKeyThatFollowsAnotherIsNotListedBesideIt) {
  const StoredRun stored = stored_run();
  const Case s = setup({"--training.seq_len=32"});
  ckpt::DataPosition data = stored.data;
  data.seq_len = data.sample_stride = 32;
  const Continuation run = continue_run(stored, s.config, s.plan, data, 42, {});
  std::vector<std::string> keys;
  for (const Change& change : run.changes) keys.push_back(change.drift.key);
  EXPECT_THAT(keys, ::testing::ElementsAre("training.seq_len"));
}

TEST(Continuation, SamplesThatAreLeftOutStayLeftOut) {
  StoredRun stored = stored_run();
  stored.data.excluded = {{1000, 16}};  // found by the run itself: its configuration does not say it
  const Continuation run = go_on(stored, {});
  EXPECT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data, stored.data);
  // In other data these numbers are other samples.
  EXPECT_THAT(go_on(stored, {}, {"training.dataset"}, "b").data.excluded, IsEmpty());
}

TEST(Continuation, RulesAndNormTypeAreSettingsOfTheCurve) {
  const StoredRun stored = stored_run();
  for (const std::string flag : {"--training.norm_type=inf", "--optimizer.rules=*norm* weight_decay=0"}) {
    const std::string key = flag.substr(2, flag.find('=') - 2);
    EXPECT_FALSE(ckpt::has_setting(stored.state.accepted, key) &&
                 ckpt::setting(stored.state.accepted, key) != ckpt::kNotSet)
        << "older versions read it";
    const Continuation refused = go_on(stored, {flag});
    EXPECT_EQ(refused.verdict.code, ckpt::Code::kIncompatible);
    EXPECT_THAT(ckpt::joined(refused.verdict.causes, "\n"), HasSubstr(key));
    EXPECT_TRUE(go_on(stored, {flag}, {key}).verdict.ok());
    StoredRun with = stored;
    with.state.accepted = go_on(stored, {flag}, {key}).accepted;
    EXPECT_TRUE(go_on(with, {flag}).verdict.ok()) << "a resume keeps it";
    EXPECT_FALSE(go_on(with, {}).verdict.ok()) << "or shows the change";
  }
}

TEST(Continuation, WithoutADifferencePermissionsDoNothing) {
  const StoredRun stored = stored_run();
  const Continuation run = go_on(stored, {"--lr_scheduler.on_change=rewarm"}, {"training.steps,optimizer.lr"});
  EXPECT_TRUE(run.verdict.ok());
  EXPECT_THAT(run.changes, IsEmpty());
  EXPECT_EQ(run.lr, stored.lr);
  EXPECT_EQ(run.data, stored.data);
  EXPECT_EQ(run.accepted, stored.state.accepted);
  EXPECT_FALSE(run.policy);
}

TEST(Continuation, AChangeThatIsNotAllowedIsRefusedWithThePreviewsAndWhatToType) {
  const Continuation run = go_on(stored_run(), {"--training.steps=200", "--optimizer.weight_decay=0.2"});
  EXPECT_EQ(run.verdict.code, ckpt::Code::kIncompatible);
  EXPECT_EQ(run.verdict.message,
            "the configuration differs from checkpoint 'runs/a/checkpoint/step-00000060' in 2 settings that shape the "
            "loss curve");
  std::vector<std::string> table;
  for (const std::string& cause : run.verdict.causes) {
    EXPECT_TRUE(ckpt::is_table_line(cause)) << cause;
    table.push_back(ckpt::cause_text(cause));
  }
  EXPECT_THAT(table, Contains(HasSubstr("training.steps          100         200   the LR schedule changes")));
  EXPECT_THAT(table, Contains(HasSubstr("optimizer.weight_decay  0.1         0.2   the config's value from step 61")));
  EXPECT_THAT(table, Contains("policy      lr(61)    lr(130)    lr(200)"));
  EXPECT_THAT(table, Contains(HasSubstr("rescale  0.0004132  0.0001202  2.487e-08  as without the change")));
  EXPECT_THAT(table, Contains(HasSubstr("2.03 times what it was")));
  for (const std::string& line : table) EXPECT_LE(line.size(), 76u) << line;
  EXPECT_THAT(run.verdict.hint, HasSubstr("values back, or choose a policy"));
  EXPECT_THAT(run.verdict.hint, ::testing::EndsWith("\n    ... --allow training.steps,optimizer.weight_decay "
                                                    "--lr_scheduler.on_change=rescale"));
}

TEST(Continuation, MoreStepsAreAQuestion) {
  const Continuation run = go_on(stored_run(), {"--training.steps=200"});
  EXPECT_EQ(run.verdict.message,
            "training.steps is 200, this run was planned for 100: how should the learning-rate schedule continue?");
  EXPECT_THAT(run.verdict.causes[0], HasSubstr("policy"));
  EXPECT_EQ(run.verdict.causes.size(), 8u);
  EXPECT_EQ(go_on(stored_run(), {"--optimizer.lr=0.01"}).verdict.message,
            "optimizer.lr is 0.01, this run was started with 0.001: how should the learning-rate schedule continue?");
  EXPECT_EQ(
      go_on(stored_run(), {"--optimizer.lr=0.01", "--training.steps=200"}).verdict.message,
      "2 settings of the learning rate differ from 'runs/a/checkpoint/step-00000060': how should the learning-rate "
      "schedule continue?");
}

TEST(Continuation, AfterTheEndOfTheCurveTheLineToPasteWarmsUpAnew) {
  StoredRun stored = stored_run();
  stored.state.step = 100;
  EXPECT_THAT(go_on(stored, {"--training.steps=200"}).verdict.hint,
              ::testing::EndsWith("--allow training.steps --lr_scheduler.on_change=rewarm"));
}

TEST(Continuation, AnAllowedScheduleChangeWithoutAPolicyShowsAllFive) {
  const Continuation run = go_on(stored_run(), {"--training.steps=200"}, {"training.steps"});
  EXPECT_EQ(ckpt::exit_code(run.verdict.code), 2);
  for (const char* policy : {"keep ", "rescale ", "extend ", "rewarm ", "config "})
    EXPECT_THAT(run.verdict.causes, Contains(HasSubstr("\t" + std::string(policy))));
  EXPECT_EQ(run.previews.size(), 5u);
}

TEST(Continuation, ThePolicyChangesTheScheduleAndTheAcceptedSettings) {
  const StoredRun stored = stored_run();
  for (const ckpt::LrPolicy policy : ckpt::kLrPolicies) {
    const std::string flag = std::string("--lr_scheduler.on_change=") + ckpt::policy_name(policy);
    const Continuation run = go_on(stored, {"--training.steps=200", flag}, {"training.steps"});
    ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
    EXPECT_EQ(run.policy, policy);
    EXPECT_EQ(run.lr, ckpt::apply_policy(stored.lr, 60, setup({"--training.steps=200"}).plan.lr, policy)->schedule);
    EXPECT_EQ(ckpt::setting(run.accepted, "lr_scheduler.total_steps"), "200");
    EXPECT_THAT(run.changed, ElementsAre("lr_scheduler.total_steps: 100 -> 200"));
    // Stored, and started again with the same words: nothing is left to change.
    StoredRun later = stored;
    later.state.accepted = run.accepted;
    later.lr = run.lr;
    later.state.step = 70;
    const Continuation again = go_on(later, {"--training.steps=200", flag}, {"training.steps"});
    EXPECT_TRUE(again.verdict.ok());
    EXPECT_EQ(again.lr, run.lr);
    EXPECT_THAT(again.changes, IsEmpty());
  }
}

TEST(Continuation, OnDriftPolicyAllowsTheScheduleAndNothingElse) {
  const std::vector<std::string> flags = {"--checkpoint.on_drift=policy", "--lr_scheduler.on_change=rewarm",
                                          "--training.steps=200", "--optimizer.lr=2e-3"};
  EXPECT_TRUE(go_on(stored_run(), flags).verdict.ok());
  std::vector<std::string> more = flags;
  more.push_back("--optimizer.eps=1e-6");
  EXPECT_EQ(go_on(stored_run(), more).verdict.code, ckpt::Code::kIncompatible);
}

TEST(Continuation, KeepWithANewPeakIsAUsageError) {
  const Continuation run =
      go_on(stored_run(), {"--optimizer.lr=2e-3", "--lr_scheduler.on_change=keep"}, {"optimizer.lr"});
  EXPECT_EQ(run.verdict.code, ckpt::Code::kInvalid);
  EXPECT_THAT(run.verdict.message, HasSubstr("policy keep does not take"));
}

TEST(Continuation, ASettingThatIsNoNumberIsAChangeLikeAnyOther) {
  StoredRun stored = stored_run();
  for (auto& [key, value] : stored.state.accepted)
    if (key == "optimizer.beta1") value = "many";
  EXPECT_FALSE(go_on(stored, {}).verdict.ok());
  const Continuation run = go_on(stored, {}, {"optimizer.beta1"});
  EXPECT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_THAT(run.changes, testing::SizeIs(1));
}

TEST(Continuation, OptimizerSettingsTakeTheConfigsValue) {
  const Continuation run = go_on(stored_run(), {"--optimizer.beta2=0.999"}, {"optimizer.beta2"});
  ASSERT_TRUE(run.verdict.ok());
  EXPECT_THAT(run.changes[0].what, HasSubstr("v-hat changes by a factor of 16.4"));
  EXPECT_FALSE(run.fresh_optimizer);
  EXPECT_EQ(run.lr, stored_run().lr);
}

TEST(Continuation, AGlobalBatchKeepsTheSamplePositionAndSaysTheNewTotal) {
  const StoredRun stored = stored_run();
  const Continuation run = go_on(stored, {"--training.global_batch_size=32"}, {"training.global_batch_size"});
  ASSERT_TRUE(run.verdict.ok());
  EXPECT_EQ(run.data, stored.data);
  EXPECT_THAT(run.changes[0].what, HasSubstr(std::to_string(60 * 16 * 128 + 40 * 32 * 128) + " tokens at step 100"));
}

TEST(Continuation, AnotherDatasetBeginsANewEpoch) {
  const StoredRun stored = stored_run();
  EXPECT_EQ(go_on(stored, {}, {}, "b").verdict.code, ckpt::Code::kIncompatible);
  const Continuation run = go_on(stored, {}, {"training.dataset"}, "b");
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.samples, 960u);
  EXPECT_EQ(run.data.epoch_base, 960u);
  EXPECT_EQ(run.data.first_epoch, 2u);  // epochs 0 and 1 were begun: 960 of 2 x 700
  EXPECT_EQ(run.data.files[0].blocks, ckpt::digest_of("b"));
  EXPECT_THAT(run.changes[0].what, HasSubstr("440 samples of the old one stay unseen"));
}

TEST(Continuation, ANewEpochKeepsTheSeedOfTheRun) {
  const Case s = setup({});
  ckpt::DataPosition opened = dataset(s.config, "b");
  opened.seed = 7;  // of whoever opened the dataset
  const Result<Permission> permission = read_permission(s.config, {"training.dataset"});
  ASSERT_TRUE(permission.ok());
  const Continuation run = continue_run(stored_run(), s.config, s.plan, opened, 42, *permission);
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.epoch_base, 960u);
  EXPECT_EQ(run.data.seed, 42u);
}

TEST(Continuation, ASequenceLengthTakesTheStrideAlongAndBeginsANewEpoch) {
  const Continuation run = go_on(stored_run(), {"--training.seq_len=64"}, {"training.seq_len"});
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.data.seq_len, 64u);
  EXPECT_EQ(run.data.first_epoch, 2u);
}

TEST(Continuation, ANewEpochAtAnEpochsEndLeavesNothingUnseenAndSkipsNoNumber) {
  StoredRun stored = stored_run();
  stored.data.samples = 1400;
  const Continuation run = go_on(stored, {"--training.no_shuffle"}, {"training.shuffle"});
  EXPECT_EQ(run.data.first_epoch, 2u);
  EXPECT_THAT(run.changes[0].what, HasSubstr("0 samples"));
}

TEST(Continuation, RenamedDataAreTheSameDataUnderTheStoredNames) {
  const StoredRun stored = stored_run();
  const Case s = setup({});
  ckpt::DataPosition renamed = dataset(s.config);
  renamed.files[0].name = "moved.txt";
  const Continuation run = continue_run(stored, s.config, s.plan, renamed, 42, {});
  EXPECT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_EQ(run.same_data, "data: same contents under another name: taken (a.txt is moved.txt now)");
  EXPECT_THAT(run.changes, IsEmpty());
  EXPECT_EQ(run.data, stored.data);
  EXPECT_EQ(run.accepted, stored.state.accepted);

  // A new epoch for another reason keeps the names, too.
  const Case other = setup({"--training.sample_stride=64"});
  ckpt::DataPosition strided = dataset(other.config);
  strided.files[0].name = "moved.txt";
  const Continuation changed = continue_run(stored, other.config, other.plan, strided, 42,
                                            *read_permission(other.config, {"training.sample_stride"}));
  EXPECT_TRUE(changed.verdict.ok()) << changed.verdict.to_string();
  EXPECT_EQ(changed.data.files, stored.data.files);
  EXPECT_EQ(changed.data.epoch_base, 960u);
}

TEST(Continuation, OtherDataAreNamedInTheRefusal) {
  const Case s = setup({});
  ckpt::DataPosition more = dataset(s.config);
  more.files.push_back({"b.txt", 10, ckpt::digest_of("b")});
  const Continuation run = continue_run(stored_run(), s.config, s.plan, more, 42, {});
  EXPECT_EQ(run.verdict.code, ckpt::Code::kIncompatible);
  ASSERT_EQ(run.changes.size(), 1u);
  EXPECT_THAT(run.changes[0].what, HasSubstr("added: b.txt; a new epoch begins"));
  EXPECT_EQ(run.same_data, "");
}

TEST(Continuation, SeedsAndShapesNeverChange) {
  const Continuation shape = go_on(stored_run(), {"--model.n_layers=3"});
  EXPECT_EQ(shape.verdict.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(shape.verdict.hint, HasSubstr("--init-from runs/a/checkpoint/step-00000060"));
  const Case s = setup({});
  EXPECT_EQ(continue_run(stored_run(), s.config, s.plan, dataset(s.config), 43, {}).verdict.code,
            ckpt::Code::kIncompatible);
}

TEST(Continuation, ExcludedComponentsStartAnewOnce) {
  const StoredRun stored = stored_run();
  const std::vector<std::string> flags = {"--checkpoint.exclude_from_loading=optimizer,lr_scheduler,dataloader",
                                          "--training.steps=200"};
  EXPECT_EQ(go_on(stored, flags, {}, "b").verdict.code, ckpt::Code::kIncompatible);  // other data still need permission
  const Continuation run = go_on(stored, flags, {"training.dataset"}, "b");
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_TRUE(run.fresh_optimizer);
  EXPECT_TRUE(run.fresh_data);
  EXPECT_EQ(run.policy, ckpt::LrPolicy::kConfig);
  EXPECT_EQ(run.data.samples, 0u);
  EXPECT_EQ(run.data.first_epoch, 0u);
  EXPECT_THAT(run.warnings, Contains(HasSubstr("moments of zero")));
  StoredRun later = stored;
  later.state.accepted = run.accepted;
  later.lr = run.lr;
  later.data = run.data;
  later.data.samples = 160;
  const Continuation again = go_on(later, flags, {}, "b");
  ASSERT_TRUE(again.verdict.ok()) << again.verdict.to_string();
  EXPECT_FALSE(again.fresh_optimizer || again.fresh_data);
  EXPECT_EQ(again.data, later.data);
  EXPECT_EQ(again.lr, later.lr);
  EXPECT_THAT(again.changed, IsEmpty());
  // Fewer components later are not new ones; a policy that contradicts is refused.
  EXPECT_FALSE(
      go_on(later, {"--checkpoint.exclude_from_loading=dataloader", "--training.steps=200"}, {}, "b").fresh_data);
  EXPECT_EQ(
      go_on(stored, {"--checkpoint.exclude_from_loading=lr_scheduler", "--lr_scheduler.on_change=keep"}).verdict.code,
      ckpt::Code::kInvalid);
}

TEST(Continuation, WhatAnotherRunLeftOutIsLeftOutAgainByARunThatStartsFromIt) {
  const std::vector<std::string> flags = {"--checkpoint.exclude_from_loading=optimizer,lr_scheduler,dataloader"};
  StoredRun stored = stored_run();
  stored.state.accepted = go_on(stored, flags).accepted;
  EXPECT_FALSE(go_on(stored, flags).fresh_optimizer) << "the same run, started again";
  stored.elsewhere = true;
  const Continuation run = go_on(stored, flags);
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_TRUE(run.fresh_optimizer);
  EXPECT_TRUE(run.fresh_data);
  EXPECT_EQ(run.policy, ckpt::LrPolicy::kConfig);
  StoredRun later = stored;
  later.elsewhere = false;
  later.state.accepted = run.accepted;
  EXPECT_FALSE(go_on(later, flags).fresh_optimizer);
}

TEST(Continuation, AComponentThatWasNamedAtAFreshStartIsNotLeftOutByALaterOne) {
  const std::vector<std::string> flags = {"--checkpoint.exclude_from_loading=optimizer,dataloader"};
  const Case s = setup(flags);
  StoredRun stored = stored_run();
  stored.state.accepted = first_settings(s.config, s.plan, stored.data, 42, *read_permission(s.config, {}));
  const Continuation run = go_on(stored, flags);
  EXPECT_FALSE(run.fresh_optimizer || run.fresh_data) << "a kill would change the run";
}

TEST(Continuation, MomentsThatAreNotThereStartAnewWhateverTheRunLeftOutBefore) {
  const std::vector<std::string> flags = {"--checkpoint.exclude_from_loading=optimizer"};
  StoredRun stored = stored_run();
  stored.state.accepted = go_on(stored, flags).accepted;
  stored.has_optimizer = false;
  const Continuation run = go_on(stored, flags);
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  EXPECT_TRUE(run.fresh_optimizer);
  EXPECT_THAT(run.changed, ElementsAre("optimizer: started anew"));
}

TEST(Continuation, DataThatBeginAnewAreNotCalledANextEpoch) {
  const Continuation run =
      go_on(stored_run(), {"--checkpoint.exclude_from_loading=dataloader"}, {"training.dataset"}, "b");
  ASSERT_TRUE(run.verdict.ok()) << run.verdict.to_string();
  ASSERT_EQ(run.changes.size(), 1u);
  EXPECT_EQ(run.changes[0].what,
            "changed: a.txt (other contents of 1000 bytes); the data begins at sample 0 of epoch 0 at step 61");
  EXPECT_EQ(run.data.samples, 0u);
}

TEST(Continuation, EveryStartThatWillTrainAtARateOf0SaysSo) {
  const std::vector<std::string> flags = {"--training.steps=200", "--lr_scheduler.on_change=keep"};
  const auto at_rest = HasSubstr("steps 101 to 200 train at a learning rate of 0");
  StoredRun stored = stored_run();
  const Continuation first = go_on(stored, flags, {"training.steps"});
  EXPECT_THAT(first.warnings, ElementsAre(at_rest));
  stored.lr = first.lr;
  stored.state.accepted = first.accepted;
  stored.state.step = 70;
  EXPECT_THAT(go_on(stored, flags, {"training.steps"}).warnings, ElementsAre(at_rest));
  stored.state.step = 150;
  EXPECT_THAT(go_on(stored, flags, {"training.steps"}).warnings, ElementsAre(HasSubstr("steps 151 to 200 train")));
  EXPECT_THAT(go_on(stored_run(), {}).warnings, IsEmpty());
}

TEST(Continuation, WordsOfATransferPermitNothingOnAResume) {
  const std::vector<std::string> words = {"model.rope_theta,model.rope_scaling", "model.norm_eps"};
  EXPECT_TRUE(go_on(stored_run(), {}, words).verdict.ok());
  for (const char* flag : {"--model.rope_theta=20000", "--model.rope_scaling=llama3:8:1:4:64", "--model.norm_eps=1e-6"})
    EXPECT_EQ(go_on(stored_run(), {flag}, words).verdict.code, ckpt::Code::kIncompatible) << flag;
}

TEST(Permission, RefusesUnknownFreeAndNeverAllowedKeys) {
  const Config config = setup({}).config;
  const auto refusal = [&](const char* words) { return read_permission(config, {words}).status(); };
  EXPECT_THAT(refusal("optimizer.wieght_decay").hint, HasSubstr("optimizer.weight_decay"));
  EXPECT_THAT(refusal("training.steps,model.dim").message, HasSubstr("can never change within a run"));
  EXPECT_THAT(refusal("debug.seed").hint, HasSubstr("--init-from"));
  EXPECT_THAT(refusal("checkpoint.interval").message, HasSubstr("needs no permission"));
  EXPECT_THAT(refusal("").message, HasSubstr("expected KEY"));
  for (const char* words : {"optimizer.wieght_decay", "model.dim", "checkpoint.interval", ""})
    EXPECT_EQ(refusal(words).code, ckpt::Code::kInvalid) << words;
  EXPECT_TRUE(
      read_permission(config, {"training.steps, optimizer.lr ", "lr_scheduler.*", "training.warmup_steps"}).ok());
}

}  // namespace
}  // namespace titan::recipe::continuation_test
