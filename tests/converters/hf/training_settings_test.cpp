#include "converters/hf/training_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::training_settings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kPath = "/f/config.json";
constexpr const char* kRow = "training.router_aux_loss";

class TrainedAlike : public ::testing::Test {
 protected:
  // A run whose configuration says `said` of the router; "": nothing.
  Status take(const std::string& json, const std::string& said = "", bool experts = true) {
    ckpt::testing::MemFs fs;
    EXPECT_TRUE(fs.make_dir("/f").ok());
    if (!json.empty()) {
      EXPECT_TRUE(ckpt::testing::put_text(fs, kPath, json).ok());
    }
    plan_ = {};
    plan_.train.emplace();
    if (experts) plan_.config = {{"model.n_experts", "4"}};
    if (!said.empty()) plan_.config = ckpt::with_rows(plan_.config, {{kRow, said}});
    plan_.train->accepted = plan_.config;
    return take_training_settings(fs, kPath, plan_);
  }
  std::string row() const {
    EXPECT_EQ(plan_.train->accepted, plan_.config);
    return ckpt::setting(plan_.config, kRow);
  }

  ImportPlan plan_;
};

TEST_F(TrainedAlike, TheBalanceLossIsThatOfTheConfigJson) {
  ASSERT_TRUE(take(R"({"router_aux_loss_coef": 0.02})").ok());
  EXPECT_EQ(row(), "0.0") << "transformers adds it only with output_router_logits";
  ASSERT_TRUE(take(R"({"router_aux_loss_coef": 0.02, "output_router_logits": true})").ok());
  EXPECT_EQ(row(), "0.02");
  EXPECT_THAT(plan_.notes,
              ElementsAre(HasSubstr("training.router_aux_loss = 0.02: the configuration does not say it")));
  ASSERT_TRUE(take(R"({"output_router_logits": true})").ok());
  EXPECT_EQ(row(), "0.001");
  ASSERT_TRUE(take(R"({"output_router_logits": null})").ok());
  EXPECT_EQ(row(), "0.0");
}

TEST_F(TrainedAlike, WhatNobodySaysIsTheDefaultAndNoted) {
  ASSERT_TRUE(take("").ok());
  EXPECT_EQ(row(), "0.001");
  EXPECT_THAT(plan_.notes, ElementsAre(HasSubstr("nothing else says it")));
}

TEST_F(TrainedAlike, TheConfigurationIsKeptAndADifferenceNoted) {
  ASSERT_TRUE(take(R"({"output_router_logits": true})", "0.5").ok());
  EXPECT_EQ(row(), "0.5");
  EXPECT_THAT(plan_.notes,
              ElementsAre(HasSubstr("training.router_aux_loss is 0.5, though /f/config.json makes it 0.001")));
  ASSERT_TRUE(take("{}", "0.0").ok());
  EXPECT_THAT(plan_.notes, IsEmpty());
}

TEST_F(TrainedAlike, OnlyModelsOfExpertsHaveARow) {
  ASSERT_TRUE(take(R"({"output_router_logits": true})", "", false).ok());
  EXPECT_EQ(row(), ckpt::kNotSet);
  EXPECT_THAT(plan_.notes, IsEmpty());
}

TEST_F(TrainedAlike, NoiseAndWrongTypesAreRefused) {
  EXPECT_EQ(take(R"({"attention_dropout": 0.0, "hidden_dropout": null})").code, ckpt::Code::kOk);
  EXPECT_THAT(take(R"({"attention_dropout": 0.1})", "", false).message,
              HasSubstr("attention_dropout is 0.1, expected 0"));
  EXPECT_THAT(take(R"({"router_jitter_noise": "x"})").message, HasSubstr("router_jitter_noise is \"x\""));
  for (const char* json : {R"({"output_router_logits": 1})", R"({"router_aux_loss_coef": "0.1"})"})
    EXPECT_EQ(take(json).code, ckpt::Code::kIncompatible) << json;
  EXPECT_EQ(take("{").code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::training_settings_test
