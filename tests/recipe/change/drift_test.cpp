#include "recipe/change/drift.h"

#include <gmock/gmock.h>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/key_table.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::drift_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ckpt::DataPosition data_position() {
  ckpt::DataPosition data;
  data.kind = "text";
  data.tokenizer = "byte";
  data.seq_len = data.sample_stride = 128;
  data.files = {{"a.txt", 1000, ckpt::digest_of("a")}};
  return data;
}

/// Accepted settings of a base run with `flags` on `world` ranks.
ckpt::Settings accepted(std::vector<std::string> flags, std::uint32_t world = 1, std::int64_t stored = 0,
                        const ckpt::DataPosition& data = data_position(), std::uint64_t seed = 42) {
  flags.insert(flags.begin(), {"--training.seq_len=128", "--training.steps=400", "--lr_scheduler.warmup_steps=40",
                               "--training.local_batch_size=4"});
  const Config config = load_ok("", flags).config;
  const Result<RunPlan> plan = make_run_plan(config, world, stored);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return accepted_settings(config, *plan, seed, data);
}

std::vector<Drift> drift(const std::vector<std::string>& flags) {
  return find_drift(accepted({"--training.global_batch_size=16"}), accepted([&] {
                      std::vector<std::string> all{"--training.global_batch_size=16"};
                      all.insert(all.end(), flags.begin(), flags.end());
                      return all;
                    }()));
}

// Checkpoints from before these keys existed have no row for them: what is off must look like what is absent.
TEST(Drift, WholeLogitsHaveNoValueAndAChunkIsARow) {
  ckpt::Settings old = accepted({});
  EXPECT_EQ(ckpt::setting(old, "training.loss_chunk"), ckpt::kNotSet);
  EXPECT_EQ(std::erase_if(old, [](const auto& row) { return row.first == "training.loss_chunk"; }), 1u);
  EXPECT_THAT(find_drift(old, accepted({})), IsEmpty());
  const Config config = load_ok("").config;
  RunPlan plan = *make_run_plan(config, 1);
  plan.loss_chunk = 256;
  EXPECT_EQ(ckpt::setting(accepted_settings(config, plan, 1, data_position()), "training.loss_chunk"), "256");
}

TEST(Drift, BiasesAndScalingThatAreOffHaveNoValue) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--model.qkv_bias=false", "--model.rope_scaling=none"}}) {
    ckpt::Settings old = accepted(flags);
    EXPECT_EQ(
        std::erase_if(
            old, [](const auto& row) { return row.first == "model.qkv_bias" || row.first == "model.rope_scaling"; }),
        2u);
    EXPECT_THAT(find_drift(old, accepted(flags)), IsEmpty());
  }
  EXPECT_THAT(drift({"--model.qkv_bias"}), ElementsAre(Drift{"model.qkv_bias", "not set", "true"}));
  EXPECT_THAT(drift({"--model.rope_scaling=llama3:8.0:1.0:4.0:8192"}),
              ElementsAre(Drift{"model.rope_scaling", "not set", "\"llama3:8:1:4:8192\""}));
}

// Rows that were not there before came with these keys, and stand in no other run's checkpoints.
TEST(Drift, WindowsAndExpertsHaveRowsOnlyWhereTheyAre) {
  const std::vector<std::string> keys = {
      "model.whole_qk_norm",         "model.post_norm",         "model.n_experts",
      "model.experts_per_token",     "model.route_norm",        "model.sliding_window",
      "model.sliding_window_layers", "training.router_aux_loss"};
  const auto has = [](const ckpt::Settings& rows, const std::string& key) {
    return std::ranges::any_of(rows, [&](const auto& row) { return row.first == key; });
  };
  for (const std::string& key : keys) {
    EXPECT_FALSE(has(accepted({}), key)) << key;
    EXPECT_FALSE(has(accepted({"--model.sliding_window=0", "--model.n_experts=0", "--model.post_norm=false"}), key));
  }
  const std::vector<std::string> experts = {"--model.n_experts=4", "--model.experts_per_token=2"};
  EXPECT_EQ(ckpt::setting(accepted(experts), "training.router_aux_loss"), "0.001");
  EXPECT_THAT(drift({"--model.sliding_window=64"}), ElementsAre(Drift{"model.sliding_window", "not set", "64"}));
  EXPECT_THAT(find_drift(accepted({"--model.sliding_window=64"}), accepted({})),
              ElementsAre(Drift{"model.sliding_window", "64", "not set"}));
  EXPECT_THAT(drift(experts), testing::SizeIs(3));
}

// Weights bring their family whatever the configuration calls it, and converted runs have no row for the name.
TEST(Drift, TheFamilyIsThatOfTheDimensions) {
  const std::vector<std::string> dims = {
      "--model.dim=64",         "--model.n_heads=4",    "--model.head_dim=16",
      "--model.ffn_dim=96",     "--model.n_layers=2",   "--model.norm_eps=1e-6",
      "--model.rope_theta=1e6", "--model.qk_norm=true", "--model.tied_embeddings=false"};
  std::vector<std::string> named = dims;
  named.emplace_back("--model.name=qwen3");
  ckpt::Settings stored = accepted(dims);
  EXPECT_EQ(ckpt::setting(stored, "model.name"), "\"qwen3\"");
  EXPECT_THAT(find_drift(stored, accepted(named)), IsEmpty());
  EXPECT_EQ(std::erase_if(stored, [](const auto& row) { return row.first == "model.name"; }), 1u);
  EXPECT_THAT(find_drift(stored, accepted(named)), IsEmpty());
  std::vector<std::string> plain = dims;
  plain.emplace_back("--model.qk_norm=false");
  EXPECT_THAT(find_drift(accepted(dims), accepted(plain)), testing::SizeIs(2)) << "the name, and the norms";
}

TEST(Drift, NamesTheKeyAndBothValues) {
  struct Case {
    std::vector<std::string> flags;
    std::vector<Drift> rows;
  };
  const Case cases[] = {
      {{"--optimizer.lr=1e-3"}, {{"optimizer.lr", "0.0008", "0.001"}}},
      {{"--optimizer.weight_decay=0"}, {{"optimizer.weight_decay", "0.1", "0.0"}}},
      {{"--optimizer.beta1=0.8"}, {{"optimizer.beta1", "0.9", "0.8"}}},
      {{"--training.max_norm=2"}, {{"training.max_norm", "1.0", "2.0"}}},
      {{"--training.steps=500"}, {{"lr_scheduler.total_steps", "400", "500"}}},
      {{"--lr_scheduler.warmup_steps=41"}, {{"lr_scheduler.warmup_steps", "40", "41"}}},
      {{"--lr_scheduler.decay_ratio=0.5"}, {{"lr_scheduler.decay_ratio", "not set", "0.5"}}},
      {{"--lr_scheduler.decay_type=cosine"}, {{"lr_scheduler.decay_type", "\"linear\"", "\"cosine\""}}},
      {{"--lr_scheduler.min_lr_factor=0.1"}, {{"lr_scheduler.min_lr_factor", "0.0", "0.1"}}},
      {{"--training.local_batch_size=2"}, {{"training.local_batch_size", "4", "2"}}},
      {{"--parallelism.pipeline_parallel_microbatch_size=2"}, {{"training.local_batch_size", "4", "2"}}},
      {{"--training.global_batch_size=32"}, {{"training.global_batch_size", "16", "32"}}},
      {{"--training.seq_len=64"}, {{"training.seq_len", "128", "64"}}},
      {{"--training.mixed_precision_param=float32"},
       {{"training.mixed_precision_param", "\"bfloat16\"", "\"float32\""}}},
      {{"--training.no_shuffle"}, {{"training.shuffle", "true", "false"}}},
      {{"--model.tied_embeddings"}, {{"model.tied_embeddings", "false", "true"}}},
      {{"--model.n_layers=4"}, {{"model.n_layers", "6", "4"}}},
      {{"--validation.enable"}, {{"validation.holdout", "0.0", "0.05"}}},
  };
  for (const Case& c : cases) EXPECT_EQ(drift(c.flags), c.rows) << c.flags[0];
}

TEST(Drift, WhatDoesNotShapeTheCurveIsFree) {
  const std::vector<std::string> cases[] = {
      {"--parallelism.pipeline_parallel_schedule=GPipe"},
      {"--checkpoint.interval=7"},
      {"--checkpoint.no_enable"},
      {"--job.dump_folder=elsewhere"},
      {"--job.threads_per_rank=3"},
      {"--metrics.log_freq=1"},
      {"--validation.freq=3"},
      {"--debug.stop_at_step=5"},
      {"--comm.train_timeout_seconds=5"},
      {"--training.device=cpu"},
      {"--training.cpu_gemm=mkl"},
      {"--training.steps=500", "--lr_scheduler.total_steps=400"},
      {"--parallelism.pipeline_parallel_microbatch_size=4"},
      {"--model.n_heads=16"},
      {"--validation.enable", "--validation.dataset_path=v.txt"},
      {"--training.dataset_path=/other/a.txt"},
  };
  for (const auto& flags : cases) EXPECT_THAT(drift(flags), IsEmpty()) << flags[0];
}

TEST(Drift, AnotherLayoutIsFree) {
  const ckpt::Settings one = accepted({"--training.global_batch_size=16"});
  EXPECT_THAT(find_drift(one, accepted({"--training.global_batch_size=16"}, 4)), IsEmpty());
  EXPECT_THAT(
      find_drift(one, accepted({"--training.global_batch_size=16", "--parallelism.pipeline_parallel_degree=2"}, 4)),
      IsEmpty());
}

TEST(Drift, AnUnsetGlobalBatchIsTheStoredOne) {
  const ckpt::Settings first = accepted({}, 4);
  EXPECT_THAT(find_drift(first, accepted({}, 2, 16)), IsEmpty());
  EXPECT_THAT(find_drift(first, accepted({}, 2)), ElementsAre(Drift{"training.global_batch_size", "16", "8"}));
}

TEST(Drift, DataAreComparedByContentAndSeedByValue) {
  const ckpt::Settings base = accepted({});
  ckpt::DataPosition other = data_position();
  other.files[0].blocks = ckpt::digest_of("b");
  const std::vector<Drift> found = find_drift(base, accepted({}, 1, 0, other));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, "training.dataset_path");
  EXPECT_THAT(found[0].stored, HasSubstr("a.txt, 1000 bytes, "));
  EXPECT_THAT(find_drift(base, accepted({}, 1, 0, data_position(), 43)), ElementsAre(Drift{"debug.seed", "42", "43"}));
  other = data_position();
  other.sample_stride = 129;
  EXPECT_THAT(find_drift(base, accepted({}, 1, 0, other)), ElementsAre(Drift{"training.sample_stride", "128", "129"}));
}

TEST(Drift, EveryCurveKeyIsComparedOrFoldedIntoOneThatIs) {
  const ckpt::Settings settings = accepted({});
  EXPECT_TRUE(std::is_sorted(settings.begin(), settings.end()));
  for (const Key& key : key_table()) {
    if (!key.value_in) continue;
    const bool folded = key.name == "model.flavor" || key.name == "model.hf_assets_path" ||
                        key.name == "training.steps" || key.name == "parallelism.pipeline_parallel_microbatch_size";
    const bool listed =
        std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.first == key.name; });
    EXPECT_EQ(listed, key.cls == KeyClass::kCurve && !folded && !key.row_if_set) << key.name;
  }
}

TEST(Drift, AKeyThatTheCheckpointDoesNotKnowStandsForItsDefault) {
  EXPECT_THAT(find_drift({}, {{"optimizer.beta1", "0.9"}}), IsEmpty());
  EXPECT_THAT(find_drift({}, {{"optimizer.beta1", "0.8"}}), ElementsAre(Drift{"optimizer.beta1", "not set", "0.8"}));
}

TEST(Environment, TheDeviceOrElseTheFirstDifferenceIsNamed) {
  EXPECT_EQ(environment_difference({{"isa", "avx2"}, {"torch", "2.11.0"}}, {{"isa", "avx2"}, {"torch", "2.12.0"}}),
            "torch: 2.11.0 in the checkpoint, 2.12.0 now");
  EXPECT_EQ(environment_difference({{"device", "cpu"}, {"isa", "avx2"}}, {{"attention", "math"}, {"device", "H100"}}),
            "device: cpu in the checkpoint, H100 now");
  EXPECT_EQ(environment_difference({{"isa", "avx2"}}, {{"isa", "avx2"}}), "");
  EXPECT_EQ(environment_difference({}, {{"isa", "avx2"}}), "isa: not set in the checkpoint, avx2 now");
}

}  // namespace
}  // namespace titan::recipe::drift_test
