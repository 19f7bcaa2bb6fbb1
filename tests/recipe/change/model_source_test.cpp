#include "recipe/change/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/writer.h"
#include "recipe/model/from_shapes.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::model_source_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kOdd = {"--model.dim=96",           "--model.n_layers=3",
                                       "--model.n_heads=8",        "--model.n_kv_heads=2",
                                       "--model.head_dim=20",      "--model.ffn_dim=100",
                                       "--model.vocab_size=300",   "--model.norm_eps=1e-6",
                                       "--model.rope_theta=10000", "--model.rope_scaling=llama3:8:1:4:64",
                                       "--model.qkv_bias",         "--model.tied_embeddings"};

ModelDims odd_dims() { return *model_dims(load_ok("", kOdd).config); }

/// Rows as a checkpoint of a run with these flags holds them.
ckpt::Settings rows_of(const std::vector<std::string>& flags) {
  RunPlan plan;
  plan.dims = *model_dims(load_ok("", flags).config);
  return resolved_settings(resolved_config(Config{}, plan));
}

std::vector<ckpt::WeightInfo> tensors_of(const ModelDims& dims) {
  std::vector<ckpt::WeightInfo> tensors;
  for (const ckpt::ParameterMeta& parameter : model_parameters(dims))
    tensors.push_back({parameter.name, ckpt::DType::kF32, parameter.shape});
  return tensors;
}

LoadedConfig from_weights(const std::string& text, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> all = {"--checkpoint.initial_load_path=weights"};
  all.insert(all.end(), flags.begin(), flags.end());
  return load_ok(text, all);
}

TEST(ModelSource, KeysThatNobodyGaveAreTheCheckpoints) {
  const auto filled = with_model_of(from_weights(""), rows_of(kOdd), "some/step");
  ASSERT_TRUE(filled.ok()) << filled.status().to_string();
  EXPECT_EQ(*model_dims(filled->config), odd_dims());
  EXPECT_EQ(filled->origins.at("model.head_dim").text(), "checkpoint some/step");
  EXPECT_EQ(filled->origins.at("model.tokenizer").text(), "default");
  EXPECT_THAT(model_source_line(*filled),
              AllOf(HasSubstr("dim, n_layers"), HasSubstr("rope_scaling from checkpoint some/step")));
  EXPECT_EQ(model_source_line(from_weights("")), "");
}

TEST(ModelSource, KeysThatAConfigurationNoLongerGivesAreNamedWithBothValues) {
  ckpt::TrainState began;
  began.attempts = {{}};
  const std::vector<std::string> kept(kOdd.begin(), kOdd.begin() + 8);
  const LoadedConfig all = load_ok("", kOdd), some = load_ok("", kept);
  const auto line = [&](const LoadedConfig& alone, const ckpt::TrainState& state) {
    return no_longer_given(alone, *with_model_of(alone, rows_of(kOdd), "x"), rows_of(kOdd), state);
  };
  EXPECT_EQ(line(some, began),
            "no longer in the configuration, and still the run's: model.rope_theta = 10000.0 (else 500000.0), "
            "model.tied_embeddings = true (else false), model.qkv_bias = true (else false), model.rope_scaling = "
            "\"llama3:8:1:4:64\" (else \"none\")");
  EXPECT_EQ(line(all, began), "");
  // A run that began from weights may never have given them; neither may one whose beginning was elsewhere.
  ckpt::TrainState from_weights = began, imported = began;
  from_weights.origin = "00112233445566778899aabbccddeeff";
  imported.attempts[0].first_step = 41;
  EXPECT_EQ(line(some, from_weights), "");
  EXPECT_EQ(line(some, imported), "");
  EXPECT_EQ(line(some, {}), "");
}

TEST(ModelSource, AFlavourOrWidthAndDepthAskForAModel) {
  for (const char* toml : {"", "[model]\nn_layers = 7\n", "[model]\ndim = 64\nvocab_size = 256\n"}) {
    EXPECT_FALSE(asks_for_model(load_ok(toml))) << toml;
    const Status status = check_model_asked(load_ok(toml), "run/checkpoint");
    EXPECT_EQ(status.code, ckpt::Code::kInvalid);
    EXPECT_THAT(status.message, HasSubstr("no checkpoint in run/checkpoint"));
    for (const char* way : {"--model.flavor=", "--model.dim=", "--init-from", "--resume", "--job.dump_folder="})
      EXPECT_THAT(status.hint, HasSubstr(way));
  }
  for (const char* toml : {"[model]\nflavor = \"debugmodel\"\n", "[model]\ndim = 64\nn_layers = 2\n"})
    EXPECT_TRUE(check_model_asked(load_ok(toml), "x").ok()) << toml;
  EXPECT_TRUE(asks_for_model(load_ok("[model]\ndim = 64\n", {"--model.n_layers=2"})));
}

TEST(ModelSource, GivenKeysStayAndAFlavourGivesAll) {
  const auto filled =
      with_model_of(from_weights("[model]\nn_layers = 7\n", {"--model.rope_scaling=none"}), rows_of(kOdd), "x");
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(filled->config.model.n_layers, 7);
  EXPECT_EQ(filled->config.model.rope_scaling, "none");
  EXPECT_EQ(filled->config.model.dim, 96);
  EXPECT_THAT(model_source_line(*filled), Not(HasSubstr("n_layers")));

  const LoadedConfig flavour = from_weights("[model]\nflavor = \"debugmodel\"\n");
  EXPECT_EQ(with_model_of(flavour, rows_of(kOdd), "x")->config.model.dim, std::nullopt);
}

// Checkpoints keep the scaling that they say, also where a flavour meant another one when they were made.
TEST(ModelSource, AFlavourLeavesTheScalingOfRopeToTheCheckpoint) {
  const ckpt::Settings plain = rows_of({}), scaled = rows_of({"--model.rope_scaling=llama3:8:1:4:8192"}),
                       other = rows_of(kOdd);
  const LoadedConfig flavour = load_ok("[model]\nflavor = \"debugmodel\"\n", {});
  const auto filled = with_model_of(flavour, plain, "some/step");
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(*model_dims(filled->config), *model_dims(Config{}));
  EXPECT_EQ(model_source_line(*filled), "rope_scaling from checkpoint some/step");
  EXPECT_EQ(model_source_line(*with_model_of(flavour, scaled, "x")), "") << "as it is";
  EXPECT_EQ(model_dims(with_model_of(flavour, other, "x")->config)->rope_scaling, odd_dims().rope_scaling);
  // Who says it, means it; and a directory of torchtitan's says nothing.
  const LoadedConfig said = load_ok("[model]\nflavor = \"debugmodel\"\nrope_scaling = \"none\"\n", {});
  EXPECT_EQ(*model_dims(with_model_of(said, scaled, "x")->config), *model_dims(Config{}));
  EXPECT_EQ(*model_dims(with_model_of(flavour, {{"model.dim", "256"}}, "x")->config), *model_dims(flavour.config));
  EXPECT_EQ(with_model_of(flavour, ckpt::with_rows(scaled, {{"model.rope_scaling", "3"}}), "x").status().code,
            ckpt::Code::kIncompatible);

  ckpt::TrainState began;
  began.attempts = {{}};
  EXPECT_EQ(
      no_longer_given(flavour, *filled, plain, began),
      "model.flavor = \"debugmodel\" scales RoPE by \"llama3:8:1:4:8192\" now, and this run continues with its first "
      "value: model.rope_scaling = \"none\"");
  EXPECT_EQ(no_longer_given(flavour, *with_model_of(flavour, scaled, "x"), scaled, began), "");
}

// Only the whole is checked: a part of a model may not stand alone.
TEST(ModelSource, APartOfAModelLoadsWhereACheckpointBringsTheRest) {
  EXPECT_THAT(load_error("[model]\nn_heads = 6\n").message, HasSubstr("not a multiple"));
  const auto filled = with_model_of(from_weights("[model]\nn_heads = 8\n"), rows_of(kOdd), "x");
  EXPECT_EQ(*model_dims(filled->config), odd_dims());
}

TEST(ModelSource, AConfigurationThatIsThisModelTakesNothing) {
  const auto filled =
      with_model_of(from_weights("[model]\ndim = 64\nn_heads = 4\nn_layers = 2\nffn_dim = 100\n"),
                    rows_of({"--model.dim=64", "--model.n_heads=4", "--model.n_layers=2", "--model.ffn_dim=100"}), "x");
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(model_source_line(*filled), "");
  EXPECT_EQ(filled->origins.at("model.head_dim").text(), "default");
}

TEST(ModelSource, RefusesRowsThatCannotBeRead) {
  const auto filled = with_model_of(from_weights(""), {{"model.dim", "\"wide\""}}, "some/step");
  EXPECT_EQ(filled.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(filled.status().message, HasSubstr("some/step: the stored configuration cannot be read: model.dim"));
}

std::vector<std::string> differing(const ModelDims& dims, const ckpt::Settings& rows) {
  std::vector<std::string> texts;
  for (const Drift& row : model_differences(dims, rows)) texts.push_back(row.key + " " + row.stored + " " + row.config);
  return texts;
}

TEST(ModelSource, EveryKeyThatChangesTheFunctionIsADifference) {
  const ckpt::Settings rows = rows_of(kOdd);
  EXPECT_THAT(differing(odd_dims(), rows), ElementsAre());
  const std::pair<const char*, const char*> changes[] = {
      {"dim", "97"},
      {"n_layers", "2"},
      {"n_heads", "4"},
      {"n_kv_heads", "4"},
      {"head_dim", "10"},
      {"ffn_dim", "99"},
      {"vocab_size", "299"},
      {"norm_eps", "1e-5"},
      {"rope_theta", "500000"},
      {"rope_scaling", "llama3:8:1:4:128"},
      {"qkv_bias", "false"},
      {"tied_embeddings", "false"},
  };
  for (const auto& [key, value] : changes) {
    std::vector<std::string> flags = kOdd;
    flags.push_back(std::string("--model.") + key + "=" + value);
    const std::vector<Drift> found = model_differences(*model_dims(load_ok("", flags).config), rows);
    ASSERT_EQ(found.size(), 1u) << key;
    EXPECT_EQ(found[0].key, std::string("model.") + key);
  }
}

TEST(ModelSource, RowsThatAreAbsentMeanOffInACheckpointThatSaysTheRest) {
  ckpt::Settings rows = rows_of({});
  std::erase_if(rows,
                [](const auto& row) { return row.first == "model.qkv_bias" || row.first == "model.rope_scaling"; });
  EXPECT_THAT(differing(*model_dims(Config{}), rows), ElementsAre());
  EXPECT_THAT(
      differing(*model_dims(load_ok("", {"--model.rope_scaling=llama3:8:1:4:8192", "--model.qkv_bias"}).config), rows),
      ElementsAre("model.qkv_bias false true", "model.rope_scaling \"none\" \"llama3:8:1:4:8192\""));
  EXPECT_THAT(differing(odd_dims(), {}), ElementsAre()) << "who says nothing does not disagree";
}

TEST(ModelSource, EqualScalingsMayBeWrittenDifferently) {
  ckpt::Settings rows = rows_of(kOdd);
  for (auto& row : rows)
    if (row.first == "model.rope_scaling") row.second = "\"llama3:8.0:1.0:4.00:64\"";
  EXPECT_THAT(differing(odd_dims(), rows), ElementsAre());
}

TEST(ModelSource, WhatNobodySaysOfTheModelIsNamed) {
  const ckpt::Settings known = known_model({}, tensors_of(odd_dims()));
  const Status status = check_model_known(from_weights(""), known, "some/dcp");
  EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
  EXPECT_EQ(status.message,
            "some/dcp does not say what model it holds, and the configuration does not either: model.n_heads, "
            "model.norm_eps, model.rope_theta, model.rope_scaling (\"none\" without scaling)");
  EXPECT_THAT(unknown_model_keys({}, known), testing::SizeIs(4));
  EXPECT_TRUE(check_model_known(from_weights("", {"--model.flavor=8B"}), known, "x").ok());
  EXPECT_TRUE(check_model_known(from_weights(""), rows_of({}), "x").ok());
}

TEST(ModelSource, TheNumberOfHeadsAndShapesTellTheRestOfAttention) {
  const LoadedConfig config =
      from_weights("[model]\nn_heads = 8\nnorm_eps = 1e-6\nrope_theta = 10000\nrope_scaling = \"llama3:8:1:4:64\"\n");
  const ckpt::Settings known = known_model({}, tensors_of(odd_dims()), config.config.model.n_heads);
  EXPECT_TRUE(check_model_known(config, known, "x").ok()) << check_model_known(config, known, "x").to_string();
  EXPECT_EQ(*model_dims(with_model_of(config, known, "x")->config), odd_dims());
}

}  // namespace
}  // namespace titan::recipe::model_source_test
