// Runs of plain torch loops and of accelerate, whose directories have Hugging Face's names and no train state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ckpt/base/files.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/parts.h"
#include "converters/hf/hf_config.h"
#include "converters/name_map.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/model/parameters.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::dcp_plain_resume_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

recipe::ModelDims model() {
  recipe::ModelDims dims;
  dims.dim = 8, dims.n_layers = 1, dims.n_heads = 1, dims.n_kv_heads = 1, dims.head_dim = 8, dims.ffn_dim = 12,
  dims.vocab_size = 11;
  return dims;
}

// A constant rate of 0.002 after two steps of warm-up.
Settings config(const Settings& changes = {}) {
  Settings rows = {{"lr_scheduler.min_lr_factor", "1.0"},
                   {"lr_scheduler.warmup_steps", "2"},
                   {"optimizer.lr", "0.002"},
                   {"optimizer.weight_decay", "0.1"},
                   {"training.global_batch_size", "4"},
                   {"training.seq_len", "32"},
                   {"training.steps", "20"}};
  return ckpt::with_rows(std::move(rows), changes);
}

using Fields = std::map<std::string, ItemValue>;
Fields group() {
  return {{"lr", ItemValue::of(0.002)},
          {"betas", ItemValue::tuple({ItemValue::of(0.9), ItemValue::of(0.95)})},
          {"eps", ItemValue::of(1e-8)},
          {"weight_decay", ItemValue::of(0.1)},
          {"amsgrad", ItemValue::boolean(false)},
          {"fused", ItemValue::none()},
          {"params", ItemValue::list({ItemValue::of(std::string("model.norm.weight"))})}};
}

struct Written {
  std::string path = "/run/checkpoint-5";
  std::string optimizer_path;  ///< "": that of the model
  std::string optimizer = "optimizer.";
  std::map<std::string, Fields> groups = {{"0", group()}};
  std::map<std::string, ItemValue> values;  ///< others
  float odd_step = 5;                       ///< of the head
};

Status write(ckpt::testing::MemFs& fs, const Written& how) {
  for (const std::string folder : {"/run", "/run/checkpoint-5", how.path.c_str(), how.optimizer_path.c_str()})
    if (!folder.empty() && !fs.stat(folder).ok()) TITAN_RETURN_IF_ERROR(fs.make_dir(folder));
  std::vector<testing::ShardedTensor> weights, state;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model())) {
    const std::string name = huggingface_names().theirs(parameter.name)->name;
    weights.push_back({"model." + name, parameter.shape, {}});
    for (const char* slot : {"exp_avg", "exp_avg_sq"})
      state.push_back({how.optimizer + "state." + name + "." + slot, parameter.shape, {}});
    const float step = parameter.name == "output.weight" ? how.odd_step : 5;
    state.push_back({how.optimizer + "state." + name + ".step", {}, {}, step});
  }
  std::vector<std::pair<std::string, ItemValue>> values(how.values.begin(), how.values.end());
  for (const auto& [group, fields] : how.groups)
    for (const auto& [field, value] : fields)
      values.emplace_back(how.optimizer + "param_groups." + group + "." + field, value);
  const std::string json = write_hf_config(model(), {}, {}).write();
  for (const char* file : {"/run/config.json", "/run/checkpoint-5/config.json"})
    TITAN_RETURN_IF_ERROR(ckpt::write_new_file(fs, file, std::as_bytes(std::span(json))));
  if (!how.optimizer_path.empty()) {
    TITAN_RETURN_IF_ERROR(testing::write_sharded(fs, how.path, weights, {}));
    return testing::write_sharded(fs, how.optimizer_path, state, values);
  }
  weights.insert(weights.end(), state.begin(), state.end());
  return testing::write_sharded(fs, how.path, weights, values);
}

Result<ImportPlan> plan(const Written& how, const Settings& given = config(), std::string path = "") {
  ckpt::testing::MemFs fs;
  TITAN_RETURN_IF_ERROR(write(fs, how));
  if (path.empty()) path = how.path;
  TITAN_ASSIGN_OR_RETURN(const bool known, dcp_format().probe(fs, path));
  if (!known) return ckpt::not_found(path);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ForeignCheckpoint> source, dcp_format().open(fs, path));
  return source->plan({.config = given});
}

Written with(const std::string& field, const ItemValue& value) {
  Written how;
  how.groups["0"][field] = value;
  return how;
}

TEST(DcpPlainResume, GoesOnFromGroupsOfBothForms) {
  Written flattened{.optimizer = "app.optim.", .groups = {{"model.norm.weight", group()}, {"lm_head.weight", group()}}};
  for (const Written& how : {Written{}, flattened, Written{.path = "/run/unnamed"}}) {
    const Result<ImportPlan> found = plan(how);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    ASSERT_TRUE(found->train && found->lr);
    EXPECT_EQ(found->step, 5u) << "of Adam's counts, where no name says it";
    EXPECT_EQ(found->train->tokens, 5u * 4 * 32);
    EXPECT_EQ(ckpt::lr_at(found->lr->phases, 6), 0.002);
    EXPECT_EQ(found->tensors.size(), 3 * found->parameters.size());
    EXPECT_EQ(ckpt::setting(found->config, "training.global_batch_size"), "4");
    EXPECT_THAT(found->notes, Contains(HasSubstr("5 steps of 4 sequences of 32 tokens")));
    EXPECT_THAT(found->notes, Contains(HasSubstr("--allow training.dataset")));
  }
  EXPECT_THAT(plan({.groups = {}})->notes, Contains(HasSubstr("the optimizer's settings are the configuration's")));
  EXPECT_EQ(plan({.values = {{"train_state.tokens", ItemValue::of(std::int64_t{77})}}})->train->tokens, 77u);
}

TEST(DcpPlainResume, WhatNoFileSaysIsNoted) {
  EXPECT_THAT(plan({})->notes, Contains(kTakenForAdamW));
  EXPECT_THAT(plan(with("decoupled_weight_decay", ItemValue::boolean(true)))->notes, Not(Contains(kTakenForAdamW)));
  EXPECT_THAT(plan({})->notes,
              Contains(HasSubstr("compared with nothing, for no file says it: training.max_norm = 1")));
  const Result<ImportPlan> averaged = plan({}, config({{"training.ema", "0.9"}}));
  ASSERT_TRUE(averaged.ok()) << averaged.status().to_string();
  EXPECT_EQ(ckpt::setting(averaged->config, "training.ema"), "0.9");
  EXPECT_THAT(averaged->notes, Contains(HasSubstr("begins with those of step 5")));
}

// A loop that sets the rate at the beginning of a step saves that of the step it has done; a scheduler that of the
// next.
TEST(DcpPlainResume, TakesTheRateOfTheStepOrOfTheNext) {
  const Settings falling = config({{"lr_scheduler.min_lr_factor", "0.0"}});
  const std::vector<ckpt::LrPhase> curve = plan({.groups = {}}, falling)->lr->phases;
  for (const std::uint64_t n : {5u, 6u})
    EXPECT_TRUE(plan(with("lr", ItemValue::of(ckpt::lr_at(curve, n))), falling).ok()) << n;
  const Status refused = plan(with("lr", ItemValue::of(ckpt::lr_at(curve, 7))), falling).status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("optimizer.param_groups.0.lr is "));
  EXPECT_THAT(refused.message, HasSubstr("lr(6) of the configuration's curve is "));
}

TEST(DcpPlainResume, RefusesWhatTheConfigurationContradicts) {
  const auto refused = [](const Written& how, const Settings& given = config()) {
    const Status status = plan(how, given).status();
    EXPECT_EQ(status.code, ckpt::Code::kIncompatible) << status.to_string();
    return status.to_string();
  };
  EXPECT_THAT(refused(with("weight_decay", ItemValue::of(0.0))), HasSubstr("weight_decay is 0, but"));
  EXPECT_THAT(refused(with("betas", ItemValue::tuple({ItemValue::of(0.9), ItemValue::of(0.999)}))), HasSubstr("beta2"));
  EXPECT_THAT(refused(with("initial_lr", ItemValue::of(0.1))), HasSubstr("initial_lr is 0.1"));
  EXPECT_THAT(refused(with("decoupled_weight_decay", ItemValue::boolean(false))), HasSubstr("expected True"));
  EXPECT_THAT(refused(with("rho", ItemValue::of(0.1))), HasSubstr("is not a setting of AdamW"));
  Written radam = with("decoupled_weight_decay", ItemValue::boolean(true));
  radam.groups["0"].erase("amsgrad");
  EXPECT_THAT(refused(radam), HasSubstr("the optimizer's groups have no amsgrad"));
  EXPECT_THAT(refused({.odd_step = 4}), HasSubstr("state.output.weight.step is 4"));
  EXPECT_THAT(refused({.path = "/run/checkpoint-5/step-6"}), HasSubstr("the folder's name says step 6"));
  EXPECT_THAT(refused({}, config({{"training.global_batch_size", ckpt::kNotSet}})),
              HasSubstr("--set training.global_batch_size=N"));
  EXPECT_THAT(refused({}, config({{"optimizer.name", "\"Adam\""}})), HasSubstr("only continue with AdamW"));
}

// transformers and most others leave norms undecayed, in a group of their own.
TEST(DcpPlainResume, GroupsMayDifferAsTheRulesOfTheConfigurationSay) {
  const auto of = [](double decay, double lr, const std::vector<std::string>& names) {
    Fields fields = group();
    fields["weight_decay"] = ItemValue::of(decay);
    fields["lr"] = ItemValue::of(lr);
    std::vector<ItemValue> params;
    for (const std::string& name : names) params.push_back(ItemValue::of(name));
    fields["params"] = ItemValue::list(params);
    return fields;
  };
  std::vector<std::string> norms, others;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model()))
    (parameter.name.find("norm") == std::string::npos ? others : norms)
        .push_back(huggingface_names().theirs(parameter.name)->name);
  Written two{.groups = {{"0", of(0.1, 0.002, others)}, {"1", of(0, 0.001, norms)}}};
  const Settings ruled = config({{"optimizer.rules", R"(["*norm* weight_decay=0 lr_factor=0.5"])"}});
  EXPECT_TRUE(plan(two, ruled).ok()) << plan(two, ruled).status().to_string();
  const Status without = plan(two).status();
  EXPECT_EQ(without.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(without.message, HasSubstr("param_groups.1.lr is 0.001"));
  const Status swapped = plan({.groups = {{"0", of(0, 0.001, others)}, {"1", of(0.1, 0.002, norms)}}}, ruled).status();
  EXPECT_EQ(swapped.code, ckpt::Code::kIncompatible) << "each group has the parameters that it lists";
  Written unlisted = two;
  for (auto& [name, fields] : unlisted.groups) fields.erase("params");
  EXPECT_TRUE(plan(unlisted, ruled).ok()) << plan(unlisted, ruled).status().to_string();
  const Status decay = plan({.groups = {{"0", of(0.1, 0.002, others)}, {"1", of(0, 0.002, norms)}}}).status();
  EXPECT_THAT(decay.message, HasSubstr("param_groups.1.weight_decay is 0, but"));
  EXPECT_THAT(decay.hint, HasSubstr("--set 'optimizer.rules=["));
  const Written flattened{.groups = {{"model.norm.weight", of(0, 0.001, {})}, {"lm_head.weight", of(0.1, 0.002, {})}}};
  EXPECT_TRUE(plan(flattened, ruled).ok()) << plan(flattened, ruled).status().to_string();
  EXPECT_FALSE(plan(flattened).ok());
}

// The groups of another optimizer, of a discriminator say, are not this model's.
TEST(DcpPlainResume, LooksAtTheGroupsOfItsOwnOptimizer) {
  Written how;
  how.values = {{"other.param_groups.0.lr", ItemValue::of(7.0)}, {"other.param_groups.0.momentum", ItemValue::of(0.5)}};
  EXPECT_TRUE(plan(how).ok()) << plan(how).status().to_string();
}

TEST(DcpParts, AnOptimizerBesideThatCannotBeReadIsSaid) {
  ckpt::testing::MemFs fs;
  for (const char* path :
       {"/c/pytorch_model_fsdp_1/.metadata", "/c/optimizer_1/__0_0.distcp", "/d/pytorch_model_fsdp_1/x"})
    ASSERT_TRUE(ckpt::testing::put_text(fs, path, "x").ok());
  EXPECT_EQ(*sibling_optimizer_note(fs, "/c/pytorch_model_fsdp_1"),
            "the optimizer's state is next to it, in /c/optimizer_1, and cannot be read: its .metadata is missing");
  EXPECT_EQ(*sibling_optimizer_note(fs, "/d/pytorch_model_fsdp_1"), "");
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/c/optimizer_1/.metadata", "x").ok());
  EXPECT_THAT(*sibling_optimizer_note(fs, "/c/pytorch_model_fsdp_1"), HasSubstr("a folder with links to both"));
}

TEST(DcpParts, TheFolderAboveHoldsModelAndOptimizer) {
  const Written how{.path = "/run/checkpoint-5/pytorch_model_fsdp_0",
                    .optimizer_path = "/run/checkpoint-5/optimizer_0"};
  const Result<ImportPlan> both = plan(how, config(), "/run/checkpoint-5");
  ASSERT_TRUE(both.ok()) << both.status().to_string();
  EXPECT_TRUE(both->train);
  EXPECT_EQ(both->tensors.size(), 3 * both->parameters.size());
  const Result<ImportPlan> alone = plan(how);
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_FALSE(alone->train);
  EXPECT_THAT(alone->notes, Contains(HasSubstr("is next to it, in /run/checkpoint-5/optimizer_0")));
}

// As that of a directory of ours which stands there.
TEST(DcpParts, AConfigJsonInTheModelsDirectoryCounts) {
  ckpt::testing::MemFs fs;
  const Written how{.path = "/run/checkpoint-5/pytorch_model_fsdp_0",
                    .optimizer_path = "/run/checkpoint-5/optimizer_0"};
  ASSERT_TRUE(write(fs, how).ok());
  ASSERT_TRUE(fs.remove_file("/run/config.json").ok());
  ASSERT_TRUE(fs.rename("/run/checkpoint-5/config.json", how.path + "/config.json").ok());
  const auto source = dcp_format().open(fs, "/run/checkpoint-5");
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->plan({}).ok()) << (*source)->plan({}).status().to_string();
}

// As where both are links to one directory of ours.
TEST(DcpParts, ANameInBothIsThatOfTheModel) {
  const Metadata both =
      joined_metadata({{"a", {.files = {"f"}, .tensors = {{.name = "w"}, {.name = "x"}}}},
                       {"b", {.files = {"f"}, .tensors = {{.name = "v"}, {.name = "w", .shape = {3}}}}}});
  ASSERT_EQ(both.tensors.size(), 3u);
  EXPECT_EQ(both.tensors[1].name, "w");
  EXPECT_TRUE(both.tensors[1].shape.empty());
  EXPECT_EQ(both.files, (std::vector<std::string>{"a/f", "b/f"}));
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_plain_resume_test
