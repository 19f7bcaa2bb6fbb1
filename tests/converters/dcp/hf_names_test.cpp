// DCP directories with Hugging Face's names: accelerate's, Lightning's, Automodel's, transformers', verl's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ckpt/base/files.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/convert.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/parts.h"
#include "converters/foreign_view.h"
#include "converters/hf/hf_config.h"
#include "converters/name_map.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/model/parameters.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::hf_names_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFolder = "/run/checkpoint-7/pytorch_model_fsdp_0";
// Rows of two heads of 8 in our order, as they lie in halves (the reference's vector).
const std::vector<float> kTwoHeads = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};

recipe::ModelDims model() {
  recipe::ModelDims dims;
  dims.dim = 12, dims.n_layers = 2, dims.n_heads = 4, dims.n_kv_heads = 2, dims.head_dim = 8, dims.ffn_dim = 20,
  dims.vocab_size = 24, dims.qkv_bias = true, dims.norm_eps = 1e-6, dims.rope_theta = 10000;
  return dims;
}

std::string theirs(const std::string& name, const recipe::ModelDims& dims = model()) {
  return huggingface_names().of(dims).theirs(name)->name;
}

struct Written {
  std::string prefix;  ///< before "model.layers" and "lm_head"
  std::string state;   ///< before the parameters of optimizer state; "" without
  bool config = true;
  std::vector<std::string> without;  ///< Hugging Face's names
  std::vector<testing::ShardedTensor> extra;
};

// Element j of the i-th tensor is 1000 i + j; heads are cut in the middle.
void write(ckpt::testing::MemFs& fs, const Written& how, const recipe::ModelDims& dims = model()) {
  for (const char* folder : {"/run", "/run/checkpoint-7", kFolder}) ASSERT_TRUE(fs.make_dir(folder).ok());
  std::vector<testing::ShardedTensor> tensors;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(dims)) {
    const std::string name = theirs(parameter.name, dims);
    if (std::ranges::find(how.without, name) != how.without.end()) continue;
    tensors.push_back({how.prefix + name, parameter.shape, {{3}}});
    if (how.state.empty()) continue;
    for (const char* slot : {"exp_avg", "exp_avg_sq"})
      tensors.push_back({how.state + name + "." + slot, parameter.shape, {{5}}});
    tensors.push_back({how.state + name + ".step", {}, {}});
  }
  tensors.insert(tensors.end(), how.extra.begin(), how.extra.end());
  const Status written = testing::write_sharded(fs, kFolder, tensors, {});
  ASSERT_TRUE(written.ok()) << written.to_string();
  if (!how.config) return;
  const std::string json = write_hf_config(dims, {}, {}).write();
  ASSERT_TRUE(ckpt::write_new_file(fs, "/run/checkpoint-7/config.json", std::as_bytes(std::span(json))).ok());
}

struct Planned {
  std::unique_ptr<ckpt::testing::MemFs> fs = std::make_unique<ckpt::testing::MemFs>();
  std::unique_ptr<ForeignCheckpoint> source;
  Result<ImportPlan> plan = ImportPlan{};

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const ckpt::ParameterMeta& parameter : plan->parameters) found.push_back(parameter.name);
    return found;
  }
  // The first element of each of the first rows: row numbers, where the tensor is the n-th.
  std::vector<float> rows(const std::string& name, const std::string& slot, std::size_t count) const {
    const auto at = std::ranges::find_if(plan->tensors, [&](const TensorPlan& tensor) {
      return tensor.ref.slot == slot && plan->parameters[tensor.ref.index].name == name;
    });
    if (at == plan->tensors.end()) return {};
    const ckpt::ParameterMeta& parameter = plan->parameters[at->ref.index];
    const std::uint64_t width = parameter.shape.size() == 1 ? 1 : parameter.shape[1];
    std::vector<float> elements(count * width);
    const Status read =
        PlannedReader(*source, *plan)
            .read(static_cast<std::size_t>(at - plan->tensors.begin()), 0, std::as_writable_bytes(std::span(elements)));
    EXPECT_TRUE(read.ok()) << read.to_string();
    std::vector<float> first;
    for (std::size_t row = 0; row < count; ++row)
      first.push_back((elements[row * width] - 1000 * std::floor(elements[0] / 1000)) / static_cast<float>(width));
    return first;
  }
};

Planned planned(const Written& how, const ImportOptions& options = {}, const recipe::ModelDims& dims = model()) {
  Planned out;
  write(*out.fs, how, dims);
  auto opened = dcp_format().open(*out.fs, kFolder);
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  if (!opened.ok()) return out;
  out.source = std::move(opened).value();
  out.plan = out.source->plan(options);
  return out;
}

std::vector<std::string> our_names(const recipe::ModelDims& dims = model()) {
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(dims)) names.push_back(parameter.name);
  return names;
}

recipe::ModelDims mixtral() {
  recipe::ModelDims dims = model();
  dims.qkv_bias = false, dims.experts = true, dims.n_experts = 8, dims.experts_per_token = 2, dims.route_norm = true;
  return dims;
}

Settings rows_of_model() {
  Settings rows = recipe::model_rows(model());
  return ckpt::with_rows(std::move(rows), {{"model.rope_scaling", "\"none\""}});
}

TEST(DcpOfHuggingFace, NamesAreThoseOfTheFamilyThatConfigJsonSays) {
  recipe::ModelDims olmo = model();
  olmo.qkv_bias = false, olmo.post_norm = olmo.qk_norm = olmo.whole_qk_norm = true;
  for (const recipe::ModelDims& dims : {olmo, mixtral()}) {
    const Planned read = planned({"model.", "optimizer.state."}, {}, dims);
    ASSERT_TRUE(read.plan.ok()) << read.plan.status().to_string();
    EXPECT_EQ(read.names(), our_names(dims));
    EXPECT_EQ(read.plan->optimizer_steps.size(), our_names(dims).size());
  }
  const std::string norm = theirs(recipe::name_of(recipe::Part::kFeedForwardPostNorm), olmo);
  const Status refused = planned({.prefix = "model.", .without = {norm}}, {}, olmo).plan.status();
  EXPECT_THAT(refused.message, HasSubstr("tensor '" + norm + "' is missing")) << "not our name of it";
}

TEST(DcpOfHuggingFace, ExpertsThatAreOneTensorAreTakenApart) {
  const recipe::ModelDims dims = mixtral();
  Written how{"model.", "optimizer.state."};
  for (const std::string& name : our_names(dims))
    if (name.find(".moe.") != std::string::npos) how.without.push_back(theirs(name, dims));
  for (const char* layer : {"model.layers.0.mlp.", "model.layers.1.mlp."})
    for (const auto& [name, shape] : std::map<std::string, std::vector<std::uint64_t>>{
             {"gate.weight", {8, 12}}, {"experts.gate_up_proj", {8, 40, 12}}, {"experts.down_proj", {8, 12, 20}}}) {
      how.extra.push_back({"model." + (layer + name), shape, {{2}}});
      for (const char* slot : {".exp_avg", ".exp_avg_sq"})
        how.extra.push_back({"optimizer.state." + (layer + name) + slot, shape, {{3}}});
      how.extra.push_back({"optimizer.state." + (layer + name) + ".step", {}, {}});
    }
  const Planned read = planned(how, {}, dims);
  ASSERT_TRUE(read.plan.ok()) << read.plan.status().to_string();
  EXPECT_EQ(read.names(), our_names(dims));
  EXPECT_THAT(read.plan->notes, Contains(HasSubstr("experts that are one tensor are taken apart")));
  EXPECT_EQ(read.plan->optimizer_steps.size(), our_names(dims).size());
  const auto first = [&](recipe::Part part, std::uint64_t expert, const std::string& slot) {
    const std::string name = recipe::name_of(part, 1, expert);
    const auto at = std::ranges::find_if(read.plan->tensors, [&](const TensorPlan& tensor) {
      return tensor.ref.slot == slot && read.plan->parameters[tensor.ref.index].name == name;
    });
    float element = -1;
    const Status status = PlannedReader(*read.source, *read.plan)
                              .read(static_cast<std::size_t>(at - read.plan->tensors.begin()), 0,
                                    std::as_writable_bytes(std::span(&element, 1)));
    EXPECT_TRUE(status.ok()) << status.to_string();
    return element;
  };
  using recipe::Part;
  for (const std::string slot : {"", "exp_avg_sq"}) {
    const float whole = first(Part::kExpertGate, 0, slot), down = first(Part::kExpertDown, 0, slot);
    EXPECT_EQ(first(Part::kExpertUp, 0, slot) - whole, 20 * 12) << "ups lie behind gates";
    EXPECT_EQ(first(Part::kExpertGate, 1, slot) - whole, 40 * 12);
    EXPECT_EQ(first(Part::kExpertUp, 3, slot) - whole, (3 * 40 + 20) * 12);
    EXPECT_EQ(first(Part::kExpertDown, 2, slot) - down, 2 * 12 * 20);
  }
}

TEST(DcpOfHuggingFace, RulesActOnTheNamesThatTheFileHasOfAllExperts) {
  const recipe::ModelDims dims = mixtral();
  Written how{"model.", "optimizer.state."};
  for (const std::string& name : our_names(dims))
    if (name.find(".moe.experts.") != std::string::npos) how.without.push_back(theirs(name, dims));
  for (const char* layer : {"model.layers.0.mlp.", "model.layers.1.mlp."})
    for (const auto& [name, shape] :
         std::map<std::string, std::vector<std::uint64_t>>{{"own.gate_up", {8, 40, 12}}, {"own.down", {8, 12, 20}}}) {
      how.extra.push_back({"model." + (layer + name), shape, {{2}}});
      for (const char* slot : {".exp_avg", ".exp_avg_sq"})
        how.extra.push_back({"optimizer.state." + (layer + name) + slot, shape, {{3}}});
      how.extra.push_back({"optimizer.state." + (layer + name) + ".step", {}, {}});
    }
  how.extra.push_back({"model.model.layers.1.mlp.experts.gate_up_proj", {8, 40, 12}, {{2}}});
  ImportOptions options;
  options.rules.rename = {{"*.*.layers.*.mlp.own.gate_up", "*.*.layers.*.mlp.experts.gate_up_proj"},
                          {"*.*.layers.*.mlp.own.down", "*.*.layers.*.mlp.experts.down_proj"},
                          {"model.layers.*.mlp.own.gate_up", "model.layers.*.mlp.experts.gate_up_proj"},
                          {"model.layers.*.mlp.own.down", "model.layers.*.mlp.experts.down_proj"}};
  const Status twice = planned(how, options, dims).plan.status();
  EXPECT_EQ(twice.code, ckpt::Code::kIncompatible) << twice.to_string();
  EXPECT_THAT(twice.hint, HasSubstr("--skip 'model.model.layers.1.mlp.own.gate_up'"));
  options.skip = {"*.layers.1.mlp.experts.gate_up_proj"};
  const Planned read = planned(how, options, dims);
  ASSERT_TRUE(read.plan.ok()) << read.plan.status().to_string();
  EXPECT_EQ(read.names(), our_names(dims));
  EXPECT_EQ(read.plan->optimizer_steps.size(), our_names(dims).size());
  options.skip = {"*.experts.3.*"};
  EXPECT_THAT(planned(how, options, dims).plan.status().message, HasSubstr("matches no tensor"));
}

TEST(DcpOfHuggingFace, TwoTensorsForOneParameterAreNamedAsTheFileHasThem) {
  const Written how{.prefix = "model.", .extra = {{"model.module.lm_head.weight", {24, 12}, {{3}}}}};
  const Status refused = planned(how).plan.status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("two tensors stand for output.weight: "));
  const std::string kept = "model.lm_head.weight", other = "model.module.lm_head.weight";
  for (const std::string& name : {kept, other}) {
    EXPECT_THAT(refused.hint, HasSubstr("--skip '" + name + "'"));
    EXPECT_TRUE(planned(how, {.skip = {name}}).plan.ok()) << name;
  }
}

TEST(DcpOfHuggingFace, WhatIsOfNoPlaceIsLeftOutByItsNameInTheFile) {
  const Written how{.prefix = "model.", .extra = {{"model.model.layers.2.input_layernorm.weight", {12}, {}}}};
  const Status refused = planned(how).plan.status();
  EXPECT_THAT(refused.hint, HasSubstr("--skip 'model.model.layers.2.input_layernorm.weight'")) << refused.to_string();
}

// A second model and its optimizer, and the other files of accelerate and of a trainer, in the folder above.
void write_accelerates(ckpt::testing::MemFs& fs) {
  write(fs, {});
  const std::string home = "/run/checkpoint-7/";
  for (const char* folder : {"pytorch_model_fsdp_1", "optimizer_1", "optimizer_0"})
    ASSERT_TRUE(fs.make_dir(home + folder).ok());
  ASSERT_TRUE(testing::write_sharded(fs, home + "pytorch_model_fsdp_1", {{"w", {2}, {}}}, {}).ok());
  ASSERT_TRUE(testing::write_sharded(fs, home + "optimizer_0", {{"lr_scheduler.last_epoch", {}, {}}}, {}).ok());
  ASSERT_TRUE(testing::write_sharded(fs, home + "optimizer_1", {{"state.w.exp_avg", {2}, {}}}, {}).ok());
  for (const char* name : {"scheduler.bin", "random_states_0.pkl", "tokenizer.json", "notes.txt"})
    ASSERT_TRUE(ckpt::testing::put_text(fs, home + name, "some").ok());
}

TEST(DcpOfHuggingFace, APartOfAcceleratesWithoutItsMetadataIsNamed) {
  for (const char* part : {"pytorch_model_fsdp_0", "optimizer_0"}) {
    ckpt::testing::MemFs fs;
    write_accelerates(fs);
    const std::string folder = std::string("/run/checkpoint-7/") + part;
    ASSERT_TRUE(fs.remove_file(folder + "/.metadata").ok());
    const auto format = detect_format(fs, "/run/checkpoint-7");
    ASSERT_TRUE(format.ok() && *format == &dcp_format()) << part;
    const Status refused = dcp_format().open(fs, "/run/checkpoint-7").status();
    EXPECT_EQ(refused.code, ckpt::Code::kCorrupt) << refused.to_string();
    EXPECT_THAT(refused.message, HasSubstr(folder + "/.metadata is missing"));
    EXPECT_THAT(
        refused.hint,
        HasSubstr(part == std::string("optimizer_0") ? "or give " + std::string(kFolder) + " alone" : "copy it again"));
  }
}

TEST(DcpOfHuggingFace, IsReadBehindAnyPrefixWithRowsInOurOrder) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "optimizer.state."},
      {"model.", "optimizer.state."},                            // accelerate: {"model": ...}
      {"app.model.", "app.optimizer.state."},                    // DCP's own tutorial
      {"state_dict.model.", "optimizer_0.state.model."},         // Lightning
      {"module.", "optim.state.module."},                        // DDP, Automodel
      {"model._orig_mod.", "optimizer.state._orig_mod."},        // torch.compile
      {"_fsdp_wrapped_module.", "state._fsdp_wrapped_module."},  // FSDP1
      {"actor.module._orig_mod._fsdp_wrapped_module.", "optimizer.state."},
  };
  for (const auto& [prefix, state] : kCases) {
    SCOPED_TRACE(prefix);
    const Planned found = planned({.prefix = prefix, .state = state});
    ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
    EXPECT_EQ(found.names(), our_names());
    EXPECT_EQ(found.plan->tensors.size(), 3 * our_names().size());
    for (const char* slot : {"", "exp_avg", "exp_avg_sq"}) {
      EXPECT_EQ(found.rows("layers.1.attention.wq.weight", slot, 16), kTwoHeads) << slot;
      EXPECT_EQ(found.rows("layers.0.attention.wk.weight", slot, 16), kTwoHeads) << slot;
      EXPECT_EQ(found.rows("layers.0.attention.wk.bias", slot, 16), kTwoHeads) << slot;
      EXPECT_THAT(found.rows("layers.0.attention.wv.weight", slot, 4), ElementsAre(0, 1, 2, 3)) << slot;
    }
    EXPECT_EQ(found.plan->config, recipe::model_rows(model()));
    EXPECT_EQ(found.plan->step, 7u);
    EXPECT_EQ(std::ranges::count(found.plan->report, true, &TensorReport::permuted), 3 * 8);
  }
}

TEST(DcpOfHuggingFace, AWrapperWithinANameIsTakenOffAndSaid) {
  Written how;
  how.without = {"model.layers.1.self_attn.q_proj.weight"};
  how.extra = {{"model.layers.1._checkpoint_wrapped_module.self_attn.q_proj.weight", {32, 12}, {}}};
  const Planned found = planned(how);
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
  EXPECT_EQ(found.names(), our_names());
  EXPECT_THAT(found.plan->notes, Contains("the wrapper's `_checkpoint_wrapped_module.` is taken off 1 name"));
}

TEST(DcpOfHuggingFace, WithoutTheNumberOfHeadsIsLookedAtUnderItsOwnNamesAndNotConverted) {
  const Written how{.prefix = "model.", .state = "optimizer.state.", .config = false};
  const Status refused = planned(how).plan.status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("no config.json"));
  const Planned looked = planned(how, {.look = true});
  ASSERT_TRUE(looked.plan.ok()) << looked.plan.status().to_string();
  EXPECT_THAT(looked.names(), Contains("model.model.layers.0.self_attn.q_proj.weight"));
  EXPECT_THAT(looked.names(), ::testing::Not(Contains("layers.0.attention.wq.weight")));
  EXPECT_THAT(looked.plan->notes, Contains(HasSubstr("names stay Hugging Face's")));
}

// NAdam has a number for each parameter, also for those whose rows move.
TEST(DcpOfHuggingFace, StateOfAnotherOptimizerIsNamedAndNotItsRows) {
  Written how{.prefix = "model.", .state = "optimizer.state."};
  how.extra = {{"optimizer.state.model.layers.0.self_attn.q_proj.weight.mu_product", {}, {}}};
  const Status refused = planned(how).plan.status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("a Titan checkpoint has no place for 'optimizer.state.model.layers.0"));
  EXPECT_THAT(refused.hint, HasSubstr("mu_product"));
}

TEST(DcpOfHuggingFace, MomentsAreComparedUnderTheirOwnNamesWithoutTheNumberOfHeads) {
  const Written how{.prefix = "model.", .state = "optimizer.state.", .config = false};
  const Planned left = planned(how, {.look = true}), whole = planned(how, {.look = true, .whole_moments = true});
  ASSERT_TRUE(whole.plan.ok()) << whole.plan.status().to_string();
  EXPECT_EQ(left.plan->left_out.size(), 3 * left.names().size());
  EXPECT_THAT(whole.plan->left_out, IsEmpty());
  EXPECT_EQ(whole.names(), left.names());
  EXPECT_EQ(whole.plan->tensors.size(), 3 * whole.names().size());
  EXPECT_THAT(whole.rows("model.model.layers.0.self_attn.q_proj.weight", "exp_avg", 3), ElementsAre(0, 1, 2));
}

TEST(DcpOfHuggingFace, ReadsWithTheConfigurationThatAUserGives) {
  const Written how{.prefix = "model.", .config = false};
  for (const bool look : {false, true}) {
    const Planned found = planned(how, {.config = rows_of_model(), .look = look});
    ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
    EXPECT_EQ(found.names(), our_names());
    EXPECT_EQ(found.rows("layers.1.attention.wq.weight", "", 16), kTwoHeads);
    EXPECT_EQ(found.plan->config.empty(), look) << "a look takes only heads from it";
  }
  // Heads alone are enough to look, and not to convert.
  const Settings heads = {{"model.n_heads", "4"}};
  EXPECT_EQ(planned(how, {.config = heads, .look = true}).rows("layers.1.attention.wq.weight", "", 16), kTwoHeads);
  EXPECT_THAT(planned(how, {.config = heads}).plan.status().to_string(), HasSubstr("model.norm_eps"));
  Settings unscaled = rows_of_model();
  std::erase_if(unscaled, [](const auto& row) { return row.first == "model.rope_scaling"; });
  EXPECT_THAT(planned(how, {.config = unscaled}).plan.status().to_string(), HasSubstr("model.rope_scaling"));
}

TEST(DcpOfHuggingFace, ATiedHeadMustBeTheEmbedding) {
  recipe::ModelDims tied = model();
  tied.tied = true;
  const Planned alone = planned({}, {}, tied);
  ASSERT_TRUE(alone.plan.ok()) << alone.plan.status().to_string();
  EXPECT_EQ(alone.names(), our_names(tied));
  const Status refused = planned({.extra = {{"lm_head.weight", {24, 12}, {}}}}, {}, tied).plan.status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("tied"));
}

TEST(DcpOfHuggingFace, RefusesTwoModelsAndTwoTensorsForOneParameter) {
  const Written two{.prefix = "a.", .extra = {{"b.model.layers.0.input_layernorm.weight", {12}, {}}}};
  const Status refused = planned(two).plan.status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, HasSubstr("'a.model.', 'b.model.'"));
  EXPECT_THAT(refused.hint, HasSubstr("--skip 'b.*'"));
  EXPECT_TRUE(planned(two, {.skip = {"b.model.*"}}).plan.ok());
  const Written twice{.extra = {{"module.model.norm.weight", {12}, {}}}};
  EXPECT_THAT(planned(twice).plan.status().message, HasSubstr("two tensors stand for norm.weight"));
}

TEST(DcpOfHuggingFace, ARenameToOurNamesSaysHowRowsLie) {
  const Written how{.prefix = "strange.", .state = "optimizer.state.strange."};
  ImportOptions options;
  options.rules.rename = {{"strange.model.layers.*.self_attn.q_proj.*", "layers.*.attention.wq.*"},
                          {"strange.model.layers.*.self_attn.k_proj.*", "layers.*.attention.wk.*"},
                          {"strange.model.layers.*.self_attn.v_proj.*", "layers.*.attention.wv.*"},
                          {"strange.model.layers.*.self_attn.o_proj.*", "layers.*.attention.wo.*"},
                          {"strange.model.layers.*.mlp.gate_proj.*", "layers.*.feed_forward.w1.*"},
                          {"strange.model.layers.*.mlp.down_proj.*", "layers.*.feed_forward.w2.*"},
                          {"strange.model.layers.*.mlp.up_proj.*", "layers.*.feed_forward.w3.*"},
                          {"strange.model.layers.*.input_layernorm.*", "layers.*.attention_norm.*"},
                          {"strange.model.layers.*.post_attention_layernorm.*", "layers.*.ffn_norm.*"},
                          {"strange.model.norm.*", "norm.*"},
                          {"strange.model.embed_tokens.*", "tok_embeddings.*"},
                          {"strange.lm_head.*", "output.*"}};
  for (const bool look : {false, true}) {
    options.look = look;
    options.rules.rows.reset();
    const Status refused = planned(how, options).plan.status();
    EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
    EXPECT_THAT(refused.causes, Contains(HasSubstr("q_proj.bias (renamed to layers.0.attention.wq.bias)")));
    EXPECT_EQ(refused.causes.size(), 8u) << "weights and biases alone";
    EXPECT_THAT(refused.hint, HasSubstr("rows = \"hf\""));
    for (const recipe::HeadRows rows : {recipe::HeadRows::kRotateHalf, recipe::HeadRows::kInterleaved}) {
      options.rules.rows = rows;
      const Planned found = planned(how, options);
      ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
      EXPECT_EQ(found.names(), our_names());
      for (const char* slot : {"", "exp_avg", "exp_avg_sq"}) {
        const std::vector<float> stay = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        const std::vector<float>& expected = rows == recipe::HeadRows::kRotateHalf ? kTwoHeads : stay;
        EXPECT_EQ(found.rows("layers.1.attention.wq.weight", slot, 16), expected);
        EXPECT_EQ(found.rows("layers.1.attention.wk.bias", slot, 16), expected);
      }
    }
  }
}

TEST(DcpOfHuggingFace, AStateFollowsItsWeightWhereRulesExchangeTwo) {
  const std::string from = "layers.0.feed_forward.w1.weight", to = "layers.1.feed_forward.w1.weight";
  const Written how{.prefix = "model.", .state = "optimizer.state."};
  ImportOptions options;
  const Planned plain = planned(how, options);
  options.rules.rename = {{"model." + theirs(from), "model." + theirs(to)},
                          {"model." + theirs(to), "model." + theirs(from)}};
  const Planned found = planned(how, options);
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
  const auto source = [](const Planned& read, const std::string& name, const std::string& slot) {
    for (const TensorPlan& tensor : read.plan->tensors)
      if (tensor.ref.slot == slot && read.plan->parameters[tensor.ref.index].name == name)
        return read.source->tensors()[tensor.source].name;
    return std::string();
  };
  for (const char* slot : {"", "exp_avg", "exp_avg_sq"}) {
    EXPECT_EQ(source(found, from, slot), source(plain, to, slot));
    EXPECT_EQ(source(found, to, slot), source(plain, from, slot));
  }
}

TEST(DcpOfHuggingFace, RulesThatGiveSomeTensorsOurNamesLeaveTheOthersTheirs) {
  const Written how{.prefix = "model.", .state = "optimizer.state."};
  ImportOptions options;
  options.rules.rows = recipe::HeadRows::kRotateHalf;
  options.rules.rename = {{"model.model.layers.*.self_attn.q_proj.weight", "layers.*.attention.wq.weight"}};
  const Planned found = planned(how, options);
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
  EXPECT_EQ(found.names(), our_names());
  for (const char* slot : {"", "exp_avg", "exp_avg_sq"})
    EXPECT_EQ(found.rows("layers.1.attention.wq.weight", slot, 16), kTwoHeads);
}

TEST(DcpOfHuggingFace, RulesThatMatchNothingAreRefused) {
  ImportOptions options{.look = true};
  options.rules.skip = {"nothing.*"};
  EXPECT_THAT(planned({}, options).plan.status().causes, ElementsAre("rule skip \"nothing.*\" matches nothing"));
  options.rules.skip = {"model.layers.1.*", "lm_head.weight"};
  const Planned found = planned({}, options);
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().to_string();
  EXPECT_EQ(found.plan->parameters.size(), 2u + 12u);
  EXPECT_THAT(found.plan->left_out, Contains("lm_head.weight"));
}

TEST(DcpOfHuggingFace, FurtherModelsOfAccelerateAndPicklesAreNamed) {
  ckpt::testing::MemFs fs;
  write_accelerates(fs);
  const auto notes = [&](const std::string& path) {
    const auto source = dcp_format().open(fs, path);
    EXPECT_TRUE(source.ok()) << source.status().to_string();
    const auto plan = (*source)->plan({.look = true});
    EXPECT_TRUE(plan.ok()) << plan.status().to_string();
    return plan.ok() ? plan->notes : std::vector<std::string>{};
  };
  const std::vector<std::string> whole = notes("/run/checkpoint-7");
  EXPECT_THAT(whole,
              Contains("not read: 'optimizer_1', 'pytorch_model_fsdp_1': accelerate saved several here, of which "
                       "the first is taken; for another model give its own folder, as in "
                       "/run/checkpoint-7/pytorch_model_fsdp_1"));
  EXPECT_THAT(whole, Contains(HasSubstr("not taken: 'random_states_0.pkl', 'scheduler.bin'")));
  EXPECT_THAT(notes(kFolder), ::testing::Not(Contains(HasSubstr("not read"))));
  const auto second = dcp_format().open(fs, "/run/checkpoint-7/pytorch_model_fsdp_1");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->tensors().size(), 1u);
  const std::string lies = "the optimizer's state is next to it, in /run/checkpoint-7/optimizer_1";
  EXPECT_THAT(*sibling_optimizer_note(fs, "/run/checkpoint-7/pytorch_model_fsdp_1"),
              HasSubstr(lies + ": a folder with links to both"));
  ASSERT_TRUE(fs.remove_file("/run/checkpoint-7/optimizer_1/.metadata").ok());
  EXPECT_EQ(*sibling_optimizer_note(fs, "/run/checkpoint-7/pytorch_model_fsdp_1"),
            lies + ", and cannot be read: its .metadata is missing");
}

TEST(DcpOfHuggingFace, FilesOfTheModelTravelFromTheDirectoryAndFromBesideTheConfigJson) {
  ckpt::testing::MemFs fs;
  write_accelerates(fs);
  ASSERT_TRUE(ckpt::testing::put_text(fs, std::string(kFolder) + "/generation_config.json", "{}").ok());
  for (const char* source : {"/run/checkpoint-7", kFolder}) {
    const bool folder_of_dcp = std::string(source) == kFolder;
    const auto taken = convert_checkpoint(fs, {.source = source, .destination = "/ours", .to = "titan", .force = true});
    ASSERT_TRUE(taken.ok()) << taken.status().to_string();
    for (const auto& [from, to] : {std::pair("/ours", "/hf"), std::pair(source, "/straight")}) {
      const auto written = convert_checkpoint(fs, {.source = from, .destination = to, .to = "hf", .force = true});
      ASSERT_TRUE(written.ok()) << written.status().to_string();
      EXPECT_EQ(ckpt::testing::get_text(fs, std::string(to) + "/tokenizer.json"), "some");
      EXPECT_EQ(fs.stat(std::string(to) + "/generation_config.json").ok(), folder_of_dcp);
      EXPECT_THAT(written->notes, ::testing::Not(Contains(HasSubstr("no config.json came with the model"))));
    }
  }
  const auto again =
      convert_checkpoint(fs, {.source = "/ours", .destination = "/dcp", .to = "dcp", .names = DcpNames::kHuggingface});
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(ckpt::testing::tree(fs, "/dcp"), (std::vector<std::string>{".metadata", "__0_0.distcp", "config.json",
                                                                       "generation_config.json", "tokenizer.json"}));
  EXPECT_TRUE(
      convert_checkpoint(
          fs, {.source = "/ours", .destination = "/dcp", .to = "dcp", .force = true, .names = DcpNames::kHuggingface})
          .ok());
  // A directory of torchtitan's names takes what lies in it, and nothing of the folder above.
  ASSERT_TRUE(fs.make_dir("/run/checkpoint-7/step-1").ok());
  std::vector<testing::ShardedTensor> tensors;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model()))
    tensors.push_back({parameter.name, parameter.shape, {}});
  ASSERT_TRUE(testing::write_sharded(fs, "/run/checkpoint-7/step-1", tensors, {}).ok());
  const auto torchtitan = dcp_format().open(fs, "/run/checkpoint-7/step-1");
  ASSERT_TRUE(torchtitan.ok());
  EXPECT_TRUE((*torchtitan)->plan({.look = true})->companions.empty());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/run/checkpoint-7/step-1/tokenizer.json", "own").ok());
  EXPECT_EQ((*torchtitan)->plan({.look = true})->companions.size(), 1u);
}

// Torchtitan's own names may lie behind a prefix, too.
TEST(DcpOfTorchtitan, IsReadBehindAPrefix) {
  Planned out;
  for (const char* folder : {"/run", "/run/checkpoint-7", kFolder}) ASSERT_TRUE(out.fs->make_dir(folder).ok());
  std::vector<testing::ShardedTensor> tensors;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model()))
    tensors.push_back({"model." + parameter.name, parameter.shape, {}});
  ASSERT_TRUE(testing::write_sharded(*out.fs, kFolder, tensors, {}).ok());
  out.source = std::move(dcp_format().open(*out.fs, kFolder)).value();
  out.plan = out.source->plan({});
  ASSERT_TRUE(out.plan.ok()) << out.plan.status().to_string();
  EXPECT_EQ(out.names(), our_names());
  EXPECT_THAT(out.rows("layers.0.attention.wq.weight", "", 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(out.plan->notes, Contains("the prefix `model.` is taken off the names of the model"));
}

}  // namespace
}  // namespace titan::convert::dcp::hf_names_test
