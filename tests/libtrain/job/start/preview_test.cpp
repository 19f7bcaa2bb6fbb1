#include "libtrain/job/start/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "ckpt/base/fs_posix.h"
#include "recipe/keys/writer.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"
#include "tests/support/failing_fs.h"
#include "tests/support/fake_weights.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::preview_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string> kSource = {
    "--model.dim=32",     "--model.n_layers=2",    "--model.n_heads=4",        "--model.n_kv_heads=2",
    "--model.ffn_dim=48", "--model.vocab_size=99", "--model.rope_theta=10000", "--model.rope_scaling=llama3:8:1:4:64"};

/// Weights of a model with these flags; nothing can be read.
std::unique_ptr<ckpt::WeightSource> weights_with(const std::vector<std::string>& flags) {
  recipe::RunPlan plan;
  plan.dims = *recipe::model_dims(recipe::load_ok("", flags).config);
  ckpt::Manifest manifest;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(plan.dims))
    manifest.parameters.push_back({parameter, ckpt::StoredTensor{}, {}, 0});
  manifest.config = recipe::resolved_settings(recipe::resolved_config(recipe::Config{}, plan));
  return ckpt::testing::fake_weights(std::move(manifest), "1d", false);
}

struct Outcome {
  Status status;
  std::vector<std::string> warnings;
};

/// Starts from weights of a model with the flags `of`, with these flags.
Outcome transfer(std::vector<std::string> flags, const std::vector<std::string>& allow = {},
                 const std::vector<std::string>& of = kSource, ckpt::Fs& fs = ckpt::posix_fs()) {
  const auto weights = weights_with(of);
  const ckpt::WeightSource& source = *weights;
  flags.push_back("--checkpoint.initial_load_path=weights");
  const auto loaded = model_of_weights(recipe::load_ok("", flags), source);
  if (!loaded.ok()) return {loaded.status(), {}};
  const auto plan = recipe::make_run_plan(loaded->config, 1);
  const auto permission = recipe::read_permission(loaded->config, allow);
  if (!plan.ok() || !permission.ok()) return {plan.ok() ? permission.status() : plan.status(), {}};
  Outcome outcome;
  outcome.status = match_transfer(fs, source, loaded->config, *plan, *permission, &outcome.warnings).status();
  return outcome;
}

TEST(MatchTransfer, RowsOfOursAreNotReordered) {
  EXPECT_TRUE(transfer({"--checkpoint.initial_load_rows=interleaved"}).status.ok());
  const Status refused = transfer({"--checkpoint.initial_load_rows=hf"}).status;
  EXPECT_EQ(refused.code, ckpt::Code::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("is for names of other programs"));
}

TEST(StoredSettings, WhatIsNoNumberIsNotKnown) {
  EXPECT_EQ(stored_global_batch({{"training.global_batch_size", "16"}}), 16);
  EXPECT_EQ(stored_global_batch({{"training.global_batch_size", "many"}}), 0);
  EXPECT_EQ(stored_global_batch({}), 0);
}

TEST(PreviewStart, DataThatOnlyHaveANameMayBeElsewhereBeforeAFirstStep) {
  const ScratchDir scratch;
  const recipe::LoadedConfig loaded =
      recipe::load_ok("training.dataset = \"c4\"\n",
                      {"--model.flavor=debugmodel", "--job.dump_folder=" + std::string(scratch / "run")});
  const auto absent = preview_start(ckpt::posix_fs(), {.loaded = loaded, .allow_missing_data = true});
  ASSERT_TRUE(absent.ok()) << absent.status().to_string();
  EXPECT_THAT(absent->no_data.message, HasSubstr("training.dataset = \"c4\""));
  EXPECT_EQ(preview_start(ckpt::posix_fs(), {.loaded = loaded}).status().code, ckpt::Code::kInvalid);
  const recipe::LoadedConfig forgotten =
      recipe::load_ok("", {"--model.flavor=debugmodel", "--job.dump_folder=" + std::string(scratch / "run")});
  EXPECT_EQ(preview_start(ckpt::posix_fs(), {.loaded = forgotten, .allow_missing_data = true}).status().code,
            ckpt::Code::kInvalid);
  const recipe::LoadedConfig named =
      recipe::load_ok("training.dataset = \"c4\"\ntraining.dataset_path = \"nowhere.txt\"\n",
                      {"--model.flavor=debugmodel", "--job.dump_folder=" + std::string(scratch / "run")});
  EXPECT_EQ(preview_start(ckpt::posix_fs(), {.loaded = named, .allow_missing_data = true}).status().code,
            ckpt::Code::kInvalid);
}

TEST(PreviewStart, SaysWhereNodesDivideNothing) {
  const ScratchDir scratch;
  const recipe::LoadedConfig loaded = recipe::load_ok(
      "training.dataset = \"c4\"\n", {"--model.flavor=debugmodel", "--parallelism.gradient_exchange=node",
                                      "--job.dump_folder=" + std::string(scratch / "run")});
  const auto on_nodes_of = [&](std::uint32_t ranks) {
    const auto start = preview_start(ckpt::posix_fs(),
                                     {.loaded = loaded, .world = 4, .allow_missing_data = true, .node_ranks = ranks});
    EXPECT_TRUE(start.ok()) << start.status().to_string();
    return std::pair(start->plan.node_ranks, start->warnings);
  };
  EXPECT_EQ(on_nodes_of(2).first, 2u);
  EXPECT_THAT(on_nodes_of(2).second, testing::Not(Contains(HasSubstr("gradient_exchange"))));
  EXPECT_THAT(on_nodes_of(3).second, Contains(HasSubstr("is as \"late\" here: nodes of 3 ranks and 4 data-parallel")));
}

TEST(PreviewStart, ReadsTheOrderOfWorkFromTheFileSystemThatItIsGiven) {
  ckpt::testing::MemFs memory;
  const std::string csv = "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n";
  ASSERT_TRUE(ckpt::testing::put_text(memory, "/order.csv", csv).ok());
  const recipe::LoadedConfig loaded = recipe::load_ok(
      "training.dataset = \"c4\"\n",
      {"--model.flavor=debugmodel", "--job.dump_folder=/run", "--parallelism.pipeline_parallel_degree=2",
       "--parallelism.pipeline_parallel_schedule_csv=/order.csv", "--training.local_batch_size=2",
       "--parallelism.pipeline_parallel_microbatch_size=1"});
  const StartInputs inputs{.loaded = loaded, .world = 2, .allow_missing_data = true};
  const auto start = preview_start(memory, inputs);
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->plan.schedule_file.text, csv);
  ckpt::testing::FailingFs failing(memory);
  failing.arm({.path_part = "order.csv", .repeat = ckpt::testing::Repeat::kSticky});
  EXPECT_THAT(preview_start(failing, inputs).status().message, HasSubstr("parallelism.pipeline_parallel_schedule_csv"));
}

TEST(Transfer, ReadsTheMapFromTheFileSystemThatItIsGiven) {
  ckpt::testing::MemFs memory;
  ASSERT_TRUE(
      ckpt::testing::put_text(memory, "/map.toml", "skip = [\"*.attention.*\"]\ncreate = [\"*.attention.*\"]\n").ok());
  const std::vector<std::string> flags = {"--model.n_heads=2", "--model.head_dim=8",
                                          "--checkpoint.initial_load_map=/map.toml"};
  EXPECT_TRUE(transfer(flags, {}, kSource, memory).status.ok());
  EXPECT_FALSE(transfer(flags).status.ok());
}

TEST(Transfer, NeedsNoModelInTheConfiguration) {
  const Outcome outcome = transfer({});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_THAT(outcome.warnings, IsEmpty());
  EXPECT_TRUE(transfer({"--model.n_heads=4", "--model.rope_scaling=llama3:8.0:1:4:64"}).status.ok());
}

TEST(Transfer, RefusesEveryKeyThatDisagreesByName) {
  for (const auto& [key, value, stored, ours] :
       std::vector<std::array<std::string, 4>>{{"n_heads", "2", "4", "2"},
                                               {"head_dim", "16", "8", "16"},
                                               {"rope_theta", "500000", "10000.0", "500000.0"},
                                               {"rope_scaling", "none", "\"llama3:8:1:4:64\"", "\"none\""},
                                               {"norm_eps", "1e-6", "0.00001", "1e-06"},
                                               {"vocab_size", "100", "99", "100"},
                                               {"n_layers", "3", "2", "3"},
                                               {"tied_embeddings", "true", "false", "true"},
                                               {"qkv_bias", "true", "false", "true"}}) {
    const Outcome outcome = transfer({"--model." + key + "=" + value});
    EXPECT_EQ(outcome.status.code, ckpt::Code::kIncompatible) << key;
    EXPECT_EQ(outcome.status.message, "the configuration's model is not that of weights");
    EXPECT_THAT(outcome.status.causes, testing::ElementsAre("model." + key + ": " + stored + " in the checkpoint, " +
                                                            ours + " in the configuration"));
    EXPECT_THAT(outcome.status.hint, HasSubstr("leave these keys"));
  }
}

TEST(Transfer, AFlavourGivesEveryKeyOfTheModelButTheScalingOfRope) {
  const Outcome outcome = transfer({"--model.flavor=debugmodel"});
  EXPECT_EQ(outcome.status.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(outcome.status.causes, AllOf(Contains("model.dim: 32 in the checkpoint, 256 in the configuration"),
                                           testing::Not(Contains(HasSubstr("model.rope_scaling"))), SizeIs(8)));
  std::vector<std::string> agreeing = kSource;
  agreeing.push_back("--model.flavor=debugmodel");
  EXPECT_TRUE(transfer(agreeing).status.ok());
}

TEST(Transfer, PermissionLetsRopeAndEpsDifferButNotHeads) {
  const Outcome outcome =
      transfer({"--model.rope_theta=500000", "--model.norm_eps=1e-6"}, {"model.rope_theta,model.norm_eps"});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_THAT(outcome.warnings,
              AllOf(SizeIs(2), Contains(HasSubstr("model.rope_theta: 10000.0 in the checkpoint, 500000.0"))));
  EXPECT_EQ(transfer({"--model.n_heads=2"}, {"model.n_heads"}).status.code, ckpt::Code::kInvalid);
  for (const char* name : {"model.rope_theta", "model.rope_scaling", "model.norm_eps"})
    EXPECT_TRUE(recipe::read_permission(recipe::Config{}, {name}).ok())
        << name << ": the word may stay in a job script when --init-from is dropped";
  EXPECT_FALSE(recipe::read_permission(recipe::Config{}, {"model.head_dim"}).ok());
}

TEST(Transfer, AMapLetsWhatShapesShowDifferAndSaysSo) {
  const ScratchDir scratch;
  const std::string map = scratch.write("map.toml",
                                        "skip = [\"tok_embeddings.weight\", \"output.weight\"]\ncreate = "
                                        "[\"tok_embeddings.weight\", \"output.weight\"]\n");
  const Outcome outcome = transfer({"--model.vocab_size=200", "--checkpoint.initial_load_map=" + map});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_THAT(outcome.warnings,
              testing::ElementsAre("by " + map + ", model.vocab_size: 99 in the checkpoint, 200 in the configuration"));
  EXPECT_THAT(
      transfer({"--model.vocab_size=200", "--model.n_heads=2", "--checkpoint.initial_load_map=" + map}).status.causes,
      Contains(HasSubstr("model.n_heads")));

  scratch.write("map.toml", "skip = [\"output.weight\"]\ncreate = [\"output.weight\"]\n");
  const Status half = transfer({"--model.vocab_size=200", "--checkpoint.initial_load_map=" + map}).status;
  EXPECT_EQ(half.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(half.to_string(), HasSubstr("tok_embeddings.weight"));
}

TEST(Transfer, WithoutAnyAttentionFromTheWeightsHeadsMayDiffer) {
  const ScratchDir scratch;
  const std::string map = scratch.write("map.toml", "skip = [\"*.attention.*\"]\ncreate = [\"*.attention.*\"]\n");
  const Outcome outcome = transfer({"--model.n_heads=2", "--model.head_dim=8", "--checkpoint.initial_load_map=" + map});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_THAT(outcome.warnings,
              Contains("no weight of attention is taken; model.n_heads: 4 in the checkpoint, 2 in the configuration"));
}

TEST(Transfer, WithoutAnyExpertFromTheWeightsTheRoutingMayDiffer) {
  const ScratchDir scratch;
  std::vector<std::string> mixture = kSource;
  mixture.insert(mixture.end(), {"--model.n_experts=4", "--model.experts_per_token=2"});
  const auto start_without = [&](const std::string& part) {
    const std::string map = scratch.write("map.toml", "skip = [\"" + part + "\"]\ncreate = [\"" + part + "\"]\n");
    return transfer({"--model.experts_per_token=1", "--model.n_experts=4", "--checkpoint.initial_load_map=" + map}, {},
                    mixture);
  };
  const Outcome outcome = start_without("*.moe.*");
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  EXPECT_THAT(outcome.warnings, Contains("no weight of experts is taken; model.experts_per_token: 2 in the checkpoint, "
                                         "1 in the configuration"));
  EXPECT_THAT(start_without("*.attention.*").status.causes, Contains(HasSubstr("model.experts_per_token")));
}

}  // namespace
}  // namespace titan::train::preview_test
