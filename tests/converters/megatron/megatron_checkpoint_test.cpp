// Steps of Megatron-Core in its form torch_dist: every tensor, and what is said where one cannot be taken.
#include "converters/megatron/megatron_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/list.h"
#include "tests/converters/megatron/folder.h"

namespace titan::convert::megatron::megatron_checkpoint_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kRun;
using testing::kStep;
using testing::run_config;
using testing::Step;
using testing::whole;
using testing::write_step;

class MegatronFolder : public testing::MegatronFolder {};

// The i-th tensor of the folder has elements 1000 i + j: 0 the embedding, 1 to 6 those of the layers, 7 the last norm,
// 8 the head; then moments, 9 further each.
TEST_F(MegatronFolder, TakesEachProjectionFromAllLayersAndGroups) {
  put({});
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->step, 5u);
  EXPECT_EQ(values(*plan, "tok_embeddings.weight"), counted(0, 72));
  EXPECT_EQ(values(*plan, "output.weight"), counted(8000, 72));
  for (const int layer : {0, 1}) {
    const std::string at = "layers." + std::to_string(layer) + ".";
    // A group is 8 rows of queries, 4 of a key, 4 of a value, of 6 elements each; two groups are a layer.
    std::vector<float> v, k;
    for (const int group : {0, 1}) {
      const auto first = static_cast<float>(1000 + layer * 192 + group * 96);
      for (const int row : {8, 10, 9, 11})  // our order of a head of 4 is 0 2 1 3
        for (int i = 0; i < 6; ++i) k.push_back(first + static_cast<float>(row * 6 + i));
      for (int i = 72; i < 96; ++i) v.push_back(first + static_cast<float>(i));
    }
    EXPECT_EQ(values(*plan, at + "attention.wk.weight"), k);
    EXPECT_EQ(values(*plan, at + "attention.wv.weight"), v);
    EXPECT_EQ(values(*plan, at + "feed_forward.w1.weight"), counted(static_cast<float>(4000 + layer * 96), 48));
    EXPECT_EQ(values(*plan, at + "feed_forward.w3.weight"), counted(static_cast<float>(4048 + layer * 96), 48));
    EXPECT_EQ(values(*plan, at + "ffn_norm.weight"), counted(static_cast<float>(5000 + layer * 6), 6));
    EXPECT_EQ(values(*plan, at + "feed_forward.w3.weight", "exp_avg"),
              counted(static_cast<float>(13048 + layer * 96), 48));
  }
  const std::vector<float> q = values(*plan, "layers.1.attention.wq.weight", "exp_avg_sq");
  ASSERT_EQ(q.size(), 96u);
  EXPECT_EQ(q[0], 19192);
  EXPECT_EQ(q[48], 19192 + 96);  // the second group's
  EXPECT_EQ(plan->optimizer_steps, std::vector<std::uint64_t>(plan->parameters.size(), 5));
}

TEST_F(MegatronFolder, WhatBecomesOfATensorIsSaidByItsNameInTheFile) {
  put({});
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  for (const TensorReport& line : plan->report)
    EXPECT_TRUE(std::ranges::any_of((*source_)->tensors(), [&](const auto& one) { return one.name == line.from; }))
        << line.from;
  EXPECT_THAT(plan->report, Contains(::testing::Field(&TensorReport::from, "decoder.layers.1.mlp.linear_fc1.weight")));
}

TEST_F(MegatronFolder, IsFoundByTheRunAndByTheStepBeforeDcp) {
  put({});
  for (const char* path : {kRun, kStep}) {
    const auto format = detect_format(fs_, path);
    ASSERT_TRUE(format.ok() && *format == &megatron_format()) << path;
    EXPECT_EQ(find_iteration(fs_, path).value(), kStep);
  }
  const std::string file = std::string(kRun) + "/latest_checkpointed_iteration.txt";
  const auto says = [&](const std::string& word) {
    ASSERT_TRUE(fs_.remove_file(file).ok());
    ASSERT_TRUE(ckpt::testing::put_text(fs_, file, word).ok());
  };
  for (const char* word : {"5\n", "5\r\n"}) {
    says(word);
    EXPECT_EQ(find_iteration(fs_, kRun).value(), kStep) << word;
  }
  ASSERT_TRUE(ckpt::make_dirs(fs_, "/run/iter_0000009").ok());  // of a save that did not end
  for (const char* word : {"6", "release", "../run/iter_0000005", ""}) {
    says(word);
    EXPECT_EQ(find_iteration(fs_, kRun).value(), "") << word;
    const Status near = explained(fs_, kRun, ckpt::not_found("no checkpoint"));
    EXPECT_EQ(near.code, Code::kNotFound);
    EXPECT_THAT(near.message, HasSubstr(*word == '\0' ? "is empty" : "names '" + std::string(word) + "'"));
    EXPECT_THAT(near.hint, HasSubstr("the newest is /run/iter_0000005"));
  }
  ASSERT_TRUE(fs_.remove_file(file).ok());
  EXPECT_THAT(explained(fs_, kRun, ckpt::not_found("no checkpoint")).message, HasSubstr("is not there"));
}

TEST_F(MegatronFolder, ListsEachStepOfTheRun) {
  put({});
  for (const char* name : {"/.metadata", "/metadata.json", "/common.pt"}) {
    const auto bytes = ckpt::read_file(fs_, std::string(kStep) + name, 1 << 20);
    ASSERT_TRUE(bytes.ok());
    ASSERT_TRUE(
        ckpt::testing::put_text(fs_, std::string("/run/iter_0000003") + name, std::string(ckpt::text_of(*bytes))).ok());
  }
  const auto report = list_any(fs_, kRun);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->steps.size(), 2u);
  EXPECT_EQ(report->steps[0].step, 5u);
  EXPECT_EQ(report->steps[0].name, "iter_0000005");
  EXPECT_EQ(report->steps[1].step, 3u);
  EXPECT_EQ(list_any(fs_, kStep)->steps[0].step, 5u);
}

TEST_F(MegatronFolder, TakesLayersThatLieApartAndMasters) {
  Step step;
  step.stacked = false;
  step.masters = true;
  put(step);
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  // 15 tensors a model; masters are the fourth.
  EXPECT_EQ(values(*plan, "tok_embeddings.weight"), counted(45000, 72));
  EXPECT_EQ(values(*plan, "layers.1.attention_norm.weight"), counted(49000, 6));
  EXPECT_THAT(plan->notes, Contains(HasSubstr("float32 masters")));
}

TEST_F(MegatronFolder, OneParameterWithoutAMasterLeavesTheOthersTheirs) {
  Step step;
  step.half = true;
  testing::add_model(step.more, "optimizer.state.param.", true);
  step.more.erase(step.more.begin() + 7);  // the last norm's
  put(step);
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(values(*plan, "tok_embeddings.weight"), counted(27000, 72));
  EXPECT_THAT(plan->notes, Contains(HasSubstr("without a master, as the model's files have them: 'decoder.final")));
  const Status run = planned({.config = run_config()}).status();
  EXPECT_EQ(run.code, Code::kIncompatible);
  EXPECT_THAT(run.message, HasSubstr("has no float32 master of 'decoder.final_layernorm.weight'"));
  EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok());
}

TEST_F(MegatronFolder, ThePaddedVocabularyIsCutWhereAConfigurationSaysSo) {
  put({});
  const auto plan = planned({.config = Settings{{"model.vocab_size", "10"}}});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->parameters[0].shape, (std::vector<std::uint64_t>{10, 6}));
  EXPECT_EQ(values(*plan, "output.weight"), counted(8000, 60));
  EXPECT_EQ(values(*plan, "output.weight", "exp_avg"), counted(17000, 60));
  EXPECT_THAT(plan->notes, Contains(HasSubstr("the first 10 of 12 rows")));
  EXPECT_THAT(planned({.config = Settings{{"model.vocab_size", "13"}}}).status().message,
              HasSubstr("model.vocab_size is 12, the configuration says 13"));
}

TEST_F(MegatronFolder, GoesOnWithTheRunsOwnCurve) {
  put({});
  const auto plan = planned({.config = run_config(), .widen = true});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  ASSERT_TRUE(plan->lr && plan->train);
  EXPECT_EQ(plan->train->tokens, 20u * 16);
  EXPECT_EQ(plan->lr->phases.size(), 1u);
  const std::vector<std::tuple<const char*, const char*, const char*>> others{
      {"training.steps", "30", "the learning rate of step 6 is"},
      {"training.global_batch_size", "8", "a step of the run has 4 samples"},
      {"optimizer.rules", "[]", "weight_decay"},
      {"optimizer.beta2", "0.99", "beta2"}};
  for (const auto& [key, value, message] : others)
    EXPECT_THAT(planned({.config = run_config({{key, value}})}).status().message, HasSubstr(message)) << key;
}

TEST_F(MegatronFolder, StateOfBucketsIsLeftBehindOrRefused) {
  Step step;
  step.form = "dp_reshardable";
  step.more = {{"optimizer.distributed.dp_group_idx_0.gbuf_idx_0.bucket_idx_0.exp_avg", {64}, {}}};
  put(step);
  const auto alone = planned();
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_TRUE(alone->optimizer_steps.empty());
  EXPECT_THAT(alone->notes, Contains(HasSubstr("has the form dp_reshardable")));
  const Status refused = planned({.config = run_config()}).status();
  EXPECT_EQ(refused.code, Code::kUnsupported);
  EXPECT_THAT(refused.hint, HasSubstr("--dist-ckpt-optim-fully-reshardable"));
  EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok());
}

TEST_F(MegatronFolder, WithoutArgumentsAConfigurationSaysTheModel) {
  Step step;
  step.arguments = false;
  put(step);
  EXPECT_EQ(planned().status().code, Code::kIncompatible);
  EXPECT_TRUE(planned({.look = true}).ok());
  const Settings model{{"model.dim", "6"},
                       {"model.ffn_dim", "8"},
                       {"model.head_dim", "4"},
                       {"model.n_heads", "4"},
                       {"model.n_kv_heads", "2"},
                       {"model.n_layers", "2"},
                       {"model.norm_eps", "1e-05"},
                       {"model.rope_scaling", "\"none\""},
                       {"model.rope_theta", "10000.0"},
                       {"model.vocab_size", "12"}};
  const auto plan = planned({.config = model});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(values(*plan, "layers.1.feed_forward.w3.weight"), counted(4144, 48));
  EXPECT_EQ(plan->step, 5u);
  Settings narrow = model;
  narrow[1].second = "9";
  EXPECT_THAT(planned({.config = narrow}).status().message, HasSubstr("has 16 rows, its model makes it 18"));
  fs_ = MemFs();
  step.common = false;
  put(step);
  EXPECT_EQ(planned({.config = model})->step, 6u);  // of the item that newer versions have
}

TEST_F(MegatronFolder, ARunOfRoundingsDoesNotGoOn) {
  Step step;
  step.half = true;
  put(step);
  EXPECT_TRUE(planned().ok());
  const Status run = planned({.config = run_config()}).status();
  EXPECT_EQ(run.code, Code::kIncompatible);
  EXPECT_THAT(run.message, HasSubstr("the optimizer has no float32 master of"));
  EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok());
}

// Of five steps the loss scaler skipped one: Adam made four, and the schedule stands at 4 x 4 samples.
TEST_F(MegatronFolder, ARunThatSkippedStepsGoesOnWithAdamAndItsScheduleWhereTheyAre) {
  Step step;
  for (testing::Entries* group : {&step.group, &step.norms}) {
    (*group)["step"] = testing::real(4);
    (*group)["lr"] = testing::real(0.01 - 0.009 * 4 / 25);
  }
  step.scheduler["num_steps"] = whole(16);
  put(step);
  const auto plan = planned({.config = run_config()});
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->step, 5u);
  EXPECT_EQ(plan->optimizer_steps, std::vector<std::uint64_t>(plan->parameters.size(), 4));
  EXPECT_EQ(plan->train->tokens, 20u * 16);
  EXPECT_NEAR(ckpt::lr_at(plan->lr->phases, 6), 0.01 - 0.009 * 4 / 25, 1e-15);
  EXPECT_THAT(plan->notes, Contains(HasSubstr("1 of 5 steps were skipped by the loss scaler")));
  fs_ = MemFs();
  step.scheduler["num_steps"] = whole(20);  // a schedule that went on is none that was skipped
  put(step);
  const Status other = planned({.config = run_config()}).status();
  EXPECT_EQ(other.code, Code::kIncompatible);
  EXPECT_THAT(other.message, HasSubstr("Adam's count is 4, but the checkpoint's step is 5"));
  EXPECT_THAT(other.hint, HasSubstr("--skip 'optimizer.*'"));
  EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok());
}

TEST_F(MegatronFolder, WithoutCommonStateTheHintOfARunIsNoLoop) {
  put({});
  ASSERT_TRUE(fs_.remove_file(std::string(kStep) + "/common.pt").ok());
  source_ = megatron_format().open(fs_, kStep);
  const Settings run = run_config({{"model.dim", "6"},
                                   {"model.ffn_dim", "8"},
                                   {"model.head_dim", "4"},
                                   {"model.n_heads", "4"},
                                   {"model.n_kv_heads", "2"},
                                   {"model.n_layers", "2"},
                                   {"model.norm_eps", "1e-05"},
                                   {"model.rope_scaling", "\"none\""},
                                   {"model.rope_theta", "10000.0"},
                                   {"model.vocab_size", "12"}});
  const Status status = planned({.config = run}).status();
  EXPECT_EQ(status.code, Code::kIncompatible);
  EXPECT_THAT(status.message, HasSubstr("does not say its settings"));
  EXPECT_THAT(status.hint, HasSubstr("--skip 'optimizer.*'"));
  EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run}).ok());
  ASSERT_TRUE(ckpt::make_dirs(fs_, std::string(kStep) + "/common.pt").ok());
  const Status folder = megatron_format().open(fs_, kStep).status();
  EXPECT_EQ(folder.code, Code::kUnsupported);
  EXPECT_THAT(folder.message, HasSubstr("common.pt is a folder, expected a file"));
}

TEST_F(MegatronFolder, MomentsOfAnotherShapeAreDamageAndLayersHaveALimit) {
  Step step;
  step.form = "";
  step.more = {{"optimizer.state.exp_avg.decoder.final_layernorm.weight", {7}, {}}};
  put(step);
  EXPECT_THAT(planned().status().message, HasSubstr("optimizer state is missing"));
  fs_ = MemFs();
  step.more.clear();
  testing::add_model(step.more, "optimizer.state.exp_avg.", true);
  testing::add_model(step.more, "optimizer.state.exp_avg_sq.", true);
  step.more[7].shape = {7};
  put(step);
  EXPECT_EQ(planned().status().code, Code::kCorrupt);
  EXPECT_THAT(planned().status().message, HasSubstr("has the shape [7], the weights have [6]"));
  fs_ = MemFs();
  step.more = {{"decoder.layers.mlp.router.bias", {300'000, 0}, {}}};
  put(step);
  EXPECT_THAT(source_.status().message, HasSubstr("of 300000 layers, at most"));
}

TEST_F(MegatronFolder, MetadataThatIsSomethingElseIsSaid) {
  Step step;
  step.metadata = "";
  put(step);
  EXPECT_EQ(source_.status().code, Code::kIncompatible);
  EXPECT_THAT(source_.status().message, HasSubstr("Megatron writes it last"));
  fs_ = MemFs();
  step.metadata = R"({"sharded_backend": "zarr"})";
  put(step);
  EXPECT_EQ(source_.status().code, Code::kUnsupported);
  EXPECT_THAT(source_.status().message, HasSubstr("sharded_backend is \"zarr\""));
  for (const auto& [text, code, message] : std::vector<std::tuple<const char*, Code, const char*>>{
           {"<!DOCTYPE html><p>sign in", Code::kUnsupported, "metadata.json is a web page (HTML)"},
           {"[]", Code::kIncompatible, "expected a JSON object"},
           {R"({"sharded_backend": 1})", Code::kIncompatible, "names no sharded_backend"},
           {R"({"sharded_backend": )", Code::kCorrupt, "expected"}}) {
    fs_ = MemFs();
    step.metadata = text;
    put(step);
    EXPECT_EQ(source_.status().code, code) << text;
    EXPECT_THAT(source_.status().message, HasSubstr(message));
  }
  ASSERT_TRUE(fs_.remove_file(std::string(kStep) + "/metadata.json").ok());
  ASSERT_TRUE(ckpt::make_dirs(fs_, std::string(kStep) + "/metadata.json").ok());
  source_ = megatron_format().open(fs_, kStep);
  EXPECT_EQ(source_.status().code, Code::kUnsupported);
  EXPECT_THAT(source_.status().message, HasSubstr("metadata.json is a folder, expected a file"));
}

}  // namespace
}  // namespace titan::convert::megatron::megatron_checkpoint_test
