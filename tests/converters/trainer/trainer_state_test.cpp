// The optimizer's state beside a Hugging Face folder: numbered parameters are those at their place in the model.
#include "converters/trainer/trainer_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "ckpt/base/files.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/foreign_view.h"
#include "converters/hf/hf_config.h"
#include "converters/pickle/pickle_writer.h"
#include "converters/trainer/trainer_checkpoint.h"
#include "recipe/model/family.h"
#include "recipe/model/parameters.h"
#include "tests/converters/hf/folder.h"
#include "tests/converters/torch_save/spelled.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::trainer_state_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Parameters = std::vector<ckpt::ParameterMeta>;

recipe::ModelDims tiny() {
  recipe::ModelDims model{4, 1, 2, 1, 2, 6, 5};
  model.qkv_bias = true;
  return model;
}

std::vector<std::string> names(const Parameters& parameters) {
  std::vector<std::string> out;
  for (const ckpt::ParameterMeta& parameter : parameters) out.push_back(parameter.name);
  return out;
}

TEST(TrainerState, ParametersAreInTheOrderInWhichTransformersMakesThem) {
  const std::string layer = "model.layers.0.";
  EXPECT_THAT(
      names(in_order_of_transformers(tiny())),
      ElementsAre("model.embed_tokens.weight", layer + "self_attn.q_proj.weight", layer + "self_attn.q_proj.bias",
                  layer + "self_attn.k_proj.weight", layer + "self_attn.k_proj.bias", layer + "self_attn.v_proj.weight",
                  layer + "self_attn.v_proj.bias", layer + "self_attn.o_proj.weight", layer + "mlp.gate_proj.weight",
                  layer + "mlp.up_proj.weight", layer + "mlp.down_proj.weight", layer + "input_layernorm.weight",
                  layer + "post_attention_layernorm.weight", "model.norm.weight", "lm_head.weight"));
  recipe::ModelDims other = tiny();
  other.qkv_bias = false;
  other.qk_norm = other.tied = true;
  const std::vector<std::string> found = names(in_order_of_transformers(other));
  EXPECT_THAT(found, Contains(layer + "self_attn.k_norm.weight"));
  EXPECT_EQ(found[5], layer + "self_attn.q_norm.weight") << "behind the output projection";
  EXPECT_THAT(found, Not(Contains("lm_head.weight")));
}

TEST(TrainerState, NormsBehindTheBlocksAreTheLastOfALayer) {
  recipe::ModelDims olmo{4, 1, 2, 1, 2, 6, 5};
  olmo.post_norm = olmo.qk_norm = olmo.whole_qk_norm = true;
  const std::string layer = "model.layers.0.";
  const std::vector<std::string> found = names(in_order_of_transformers(olmo));
  ASSERT_EQ(found.size(), 14u);
  EXPECT_EQ(found[10], layer + "post_attention_layernorm.weight");
  EXPECT_EQ(found[11], layer + "post_feedforward_layernorm.weight");
  EXPECT_THAT(found, Not(Contains(layer + "input_layernorm.weight")));
}

// Mixtral, or Qwen3-MoE, whose heads have norms.
recipe::ModelDims with_experts(bool normed) {
  recipe::ModelDims model = testing::tiny_model();
  model.experts = model.route_norm = true;
  model.n_experts = 3, model.experts_per_token = 2, model.qk_norm = normed;
  return model;
}

TEST(TrainerState, ExpertsAreInTheOrdersOfTransformers4And5) {
  const auto of_layer = [](bool normed, bool fused) {
    std::vector<std::string> found = names(in_order_of_transformers(with_experts(normed), fused));
    const std::string layer = "model.layers.1.";
    std::erase_if(found, [&](const std::string& name) {
      return !name.starts_with(layer) || name.find("self_attn") != std::string::npos;
    });
    for (std::string& name : found) name.erase(0, layer.size());
    if (!fused && found.size() > 6) found.erase(found.begin() + 4, found.end() - 2);  // experts behind the first
    return found;
  };
  const std::string moe = "block_sparse_moe.", norms[] = {"input_layernorm.weight", "post_attention_layernorm.weight"};
  EXPECT_THAT(of_layer(false, false),
              ElementsAre(moe + "gate.weight", moe + "experts.0.w1.weight", moe + "experts.0.w2.weight",
                          moe + "experts.0.w3.weight", norms[0], norms[1]));
  EXPECT_THAT(of_layer(true, false),
              ElementsAre("mlp.gate.weight", "mlp.experts.0.gate_proj.weight", "mlp.experts.0.up_proj.weight",
                          "mlp.experts.0.down_proj.weight", norms[0], norms[1]));
  EXPECT_THAT(of_layer(false, true),
              ElementsAre("mlp.gate.weight", "mlp.experts.gate_up_proj", "mlp.experts.down_proj", norms[0], norms[1]));
  EXPECT_THAT(of_layer(true, true),
              ElementsAre("mlp.experts.gate_up_proj", "mlp.experts.down_proj", "mlp.gate.weight", norms[0], norms[1]));
}

// A file of torch.save. Moments of the i-th parameter are i, i + 0.5.
class Spelled {
 public:
  struct Group {
    std::vector<std::size_t> parameters;  // of the model's order
    double weight_decay = 0.1;
  };
  bool named = false, no_moments = false;
  std::size_t without = SIZE_MAX;  // the state that is not there
  std::size_t spoiled = SIZE_MAX;  // the state that is not finite
  double step = 3, lr = 0.5;
  bool counted = false;           // the j-th element of a moment is j more than its first
  std::string prefix{};           // before names
  const char* wrapped = nullptr;  // the key of the state in a dict around it
  bool adam = true;               // groups have the setting that every Adam of torch has
  std::string setting{};          // a further one

  std::string file(const Parameters& order, const std::vector<Group>& groups) {
    testing::Spelled to;
    PickleWriter& out = to.out;
    if (wrapped != nullptr) {
      out.empty_dict();
      out.mark();
      out.text(wrapped);
    }
    out.empty_dict();
    out.mark();
    out.text("state");
    out.empty_dict();
    out.mark();
    std::int64_t number = 0;
    for (const Group& group : groups) {
      for (const std::size_t parameter : group.parameters) {
        const std::int64_t own = number++;
        if (parameter == without) continue;
        named ? out.text(prefix + order[parameter].name) : out.integer(own);
        out.empty_dict();
        out.mark();
        out.text("step");
        testing::put_tensor(to, {}, {static_cast<float>(step)});
        for (const auto& [slot, value] : {std::pair{"exp_avg", 0.0}, {"exp_avg_sq", 0.5}}) {
          if (no_moments) continue;
          out.text(slot);
          const testing::Dims& shape = order[parameter].shape;
          const auto each = static_cast<float>(static_cast<double>(parameter) + value);
          std::vector<float> values(ckpt::element_count(shape), each);
          for (std::size_t j = 0; counted && j < values.size(); ++j) values[j] += static_cast<float>(j);
          if (parameter == spoiled) values.back() = std::numeric_limits<float>::quiet_NaN();
          testing::put_tensor(to, shape, values);
        }
        out.set_items();
      }
    }
    out.set_items();
    out.text("param_groups");
    out.empty_list();
    out.mark();
    number = 0;
    for (const Group& group : groups) put_group(out, order, group, number);
    out.appends();
    out.set_items();
    if (wrapped != nullptr) out.set_items();
    return std::move(to).file();
  }

 private:
  void put_group(PickleWriter& out, const Parameters& order, const Group& group, std::int64_t& number) const {
    out.empty_dict();
    out.mark();
    for (const auto& [key, value] : {std::pair{"lr", lr}, {"eps", 1e-8}, {"weight_decay", group.weight_decay}}) {
      out.text(key);
      out.real(value);
    }
    out.text("betas");
    out.real(0.9);
    out.real(0.95);
    out.tuple(2);
    if (adam) {
      out.text("amsgrad");
      out.boolean(false);
    }
    if (!setting.empty()) {
      out.text(setting);
      out.boolean(true);
    }
    out.text("params");
    out.empty_list();
    out.mark();
    for (const std::size_t parameter : group.parameters) {
      named ? out.text(prefix + order[parameter].name) : out.integer(number);
      ++number;
    }
    out.appends();
    out.set_items();
  }
};

class TrainerStateOf : public ::testing::Test {
 protected:
  Result<TrainerState> read(const std::vector<Spelled::Group>& groups) {
    const std::string path = "/" + std::to_string(++files_written_) + ".pt";
    EXPECT_TRUE(ckpt::testing::put_text(fs_, path, spelled_.file(order_, groups)).ok());
    return read_trainer_state(fs_, {path}, tiny(), files_);
  }
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> list(order_.size());
    std::iota(list.begin(), list.end(), 0);
    return list;
  }
  // Of the parameters with so many dimensions.
  std::vector<std::size_t> of_rank(std::size_t dimensions) const {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (order_[i].shape.size() == dimensions) list.push_back(i);
    return list;
  }
  void expect_everything(const Result<TrainerState>& state) {
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    ASSERT_EQ(state->size(), order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const TrainerMoments& moments = state->at(order_[i].name);
      EXPECT_EQ(moments.step, 3);
      for (const auto& [tensor, value] : {std::pair{&moments.exp_avg, 0.0f}, {&moments.exp_avg_sq, 0.5f}}) {
        ASSERT_EQ(tensor->shape, order_[i].shape);
        float element = -1;
        EXPECT_TRUE(
            files_.read(*tensor, ckpt::element_count(tensor->shape) - 1, std::as_writable_bytes(std::span(&element, 1)))
                .ok());
        EXPECT_EQ(element, static_cast<float>(i) + value) << order_[i].name;
      }
    }
  }

  MemFs fs_;
  int files_written_ = 0;
  PieceFiles files_{fs_};
  Spelled spelled_;
  const Parameters order_ = in_order_of_transformers(tiny());
};

TEST_F(TrainerStateOf, OneGroupAndTwoAndNamesAreRead) {
  expect_everything(read({{all()}}));
  expect_everything(read({{of_rank(2)}, {of_rank(1), 0.0}}));
  const auto reversed = read({{of_rank(1), 0.0}, {of_rank(2)}});
  expect_everything(reversed);
  EXPECT_EQ(reversed->at("model.norm.weight").group.weight_decay, 0.0);
  EXPECT_EQ(reversed->at("lm_head.weight").group.weight_decay, 0.1);
  expect_everything(read({{of_rank(2)}, {}, {of_rank(1)}}));
  spelled_.named = true;
  std::vector<std::size_t> shuffled = all();
  std::ranges::reverse(shuffled);
  expect_everything(read({{shuffled}}));
  spelled_.wrapped = "optimizer";
  expect_everything(read({{shuffled}}));
}

TEST_F(TrainerStateOf, WhatCannotBeToldApartIsRefused) {
  std::vector<std::size_t> fewer = all();
  fewer.pop_back();
  std::vector<std::size_t> swapped = all();
  std::swap(swapped[0], swapped[8]);  // embedding and feed-forward have other shapes
  const std::vector<std::size_t> first(fewer.begin(), fewer.begin() + 4), rest(fewer.begin() + 4, fewer.end());
  for (const auto& [groups, message] :
       {std::pair<std::vector<Spelled::Group>, const char*>{{{fewer}}, "the model has 15"},
        {{{swapped}}, "in another order"},
        {{{first}, {rest}, {{14}}}, "groups of parameters without names"},
        {{}, "state of 0 parameters"}}) {
    const Status status = read(groups).status();
    EXPECT_EQ(status.code, Code::kIncompatible) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(message));
    EXPECT_THAT(status.hint, HasSubstr("--skip 'optimizer.*'"));
  }
  spelled_.without = 3;
  EXPECT_THAT(read({{all()}}).status().message, HasSubstr("it was not trained"));
  spelled_ = Spelled{};
  spelled_.no_moments = true;
  EXPECT_EQ(read({{all()}}).status().code, Code::kUnsupported);
  spelled_ = Spelled{};
  spelled_.wrapped = "ema";
  EXPECT_EQ(read({{all()}}).status().code, Code::kUnsupported) << "no bytes changed";
}

// A folder of a trainer at step 3, and the configuration of its run.
class TrainerFolder : public TrainerStateOf {
 protected:
  void SetUp() override {
    const recipe::ModelDims model = testing::tiny_model();
    testing::make_hf_folder(fs_, "/f", model, testing::model_tensors(model));
    put("optimizer.bin", optimizer());
  }
  std::string optimizer() {
    const Parameters order = in_order_of_transformers(testing::tiny_model());
    std::vector<std::size_t> matrices, vectors;
    for (std::size_t i = 0; i < order.size(); ++i)
      (order[i].shape.size() == 1 && undecayed_ ? vectors : matrices).push_back(i);
    return spelled_.file(order, {{matrices}, {vectors, 0.0}});
  }
  void put_again() {
    remove("optimizer.bin");
    put("optimizer.bin", optimizer());
  }
  void put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(ckpt::testing::put_text(fs_, "/f/" + name, bytes).ok());
  }
  void remove(const std::string& name) { EXPECT_TRUE(fs_.remove_file("/f/" + name).ok()); }
  Result<ImportPlan> plan(const Settings& config, std::vector<std::string> skip = {}) {
    TITAN_ASSIGN_OR_RETURN(source_, hf_format().open(fs_, "/f"));
    ImportOptions options;
    options.skip = std::move(skip);
    if (!config.empty()) options.config = config;
    return source_->plan(options);
  }
  // A model of experts with its optimizer; `fused` says how the optimizer has them, and the file of the weights.
  void put_experts(const recipe::ModelDims& model, bool fused, bool fused_file) {
    testing::RawTensors tensors;
    for (const ckpt::ParameterMeta& one : in_order_of_transformers(model, fused_file)) {
      std::string shape;
      for (const std::uint64_t extent : one.shape) shape += (shape.empty() ? "[" : ",") + std::to_string(extent);
      tensors[one.name] = {"F32", shape + "]", std::string(4 * ckpt::element_count(one.shape), '\0')};
    }
    for (const char* name : {"model.safetensors", "config.json", "optimizer.bin"}) remove(name);
    testing::make_hf_folder(fs_, "/f", model, tensors);
    const Parameters order = in_order_of_transformers(model, fused);
    std::vector<std::size_t> matrices, vectors;
    for (std::size_t i = 0; i < order.size(); ++i) (order[i].shape.size() == 1 ? vectors : matrices).push_back(i);
    spelled_.counted = true;
    put("optimizer.bin", spelled_.file(order, {{matrices}, {vectors}}));
  }
  float first_moment(const ImportPlan& plan, const std::string& name) {
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      if (plan.tensors[i].ref.slot != ckpt::kExpAvg || plan.parameters[plan.tensors[i].ref.index].name != name)
        continue;
      float element = -1;
      EXPECT_TRUE(PlannedReader(*source_, plan).read(i, 0, std::as_writable_bytes(std::span(&element, 1))).ok());
      return element;
    }
    return -1;
  }
  std::string note_of_verify() {
    const auto source = hf_format().open(fs_, "/f");
    const auto report = source.ok() ? (*source)->verify({}) : Result<ckpt::VerifyReport>(source.status());
    return report.ok() ? report->note : report.status().to_string();
  }
  // Refused by name, and what the hint says goes on.
  void expect_refused(Code code, const std::string& message) {
    const Status refused = plan(run_).status();
    EXPECT_EQ(refused.code, code) << refused.to_string();
    EXPECT_THAT(refused.message, HasSubstr(message));
    EXPECT_THAT(refused.hint, HasSubstr("--skip 'optimizer.*'"));
    for (const auto& model : {plan(run_, {"optimizer.*"}), plan({})}) {
      ASSERT_TRUE(model.ok()) << model.status().to_string();
      EXPECT_TRUE(model->optimizer_steps.empty());
    }
  }

  std::unique_ptr<ForeignCheckpoint> source_;
  bool undecayed_ = false;  // vectors, in a group of their own
  const Settings run_{{"lr_scheduler.min_lr_factor", "1.0"},
                      {"lr_scheduler.warmup_steps", "1"},
                      {"optimizer.beta1", "0.9"},
                      {"optimizer.beta2", "0.95"},
                      {"optimizer.eps", "1e-08"},
                      {"optimizer.lr", "0.5"},
                      {"optimizer.weight_decay", "0.1"},
                      {"training.global_batch_size", "2"},
                      {"training.seq_len", "7"},
                      {"training.steps", "9"}};
};

TEST_F(TrainerFolder, GoesOnWithTheConfigurationAlone) {
  put("scheduler.pt", "x");
  const auto weights = plan({});
  ASSERT_TRUE(weights.ok()) << weights.status().to_string();
  EXPECT_TRUE(weights->optimizer_steps.empty());
  EXPECT_THAT(weights->notes, Contains(HasSubstr("not taken: 'optimizer.bin', 'scheduler.pt'")));
  EXPECT_THAT(weights->notes, Contains(HasSubstr("--config FILE.toml with optimizer")));
  const auto run = plan(run_);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_EQ(run->tensors.size(), 3 * run->parameters.size());
  EXPECT_EQ(run->step, 3u);
  ASSERT_TRUE(run->train && run->lr);
  EXPECT_EQ(run->train->tokens, 3u * 2 * 7);
  EXPECT_THAT(run->notes, Contains(HasSubstr("not taken: 'scheduler.pt': the state of a run")));
  EXPECT_THAT(run->notes, Not(Contains(HasSubstr("'optimizer.bin'"))));
  put("trainer_state.json", "{\"global_step\": 3}");
  EXPECT_THAT(plan(run_)->notes, Not(Contains(HasSubstr("trainer_state.json")))) << "it was read";
  remove("optimizer.bin");
  put("optimizer.bin", "no pickle");
  EXPECT_FALSE(plan(run_).ok());
  EXPECT_THAT(plan({})->notes, Contains(HasSubstr("optimizer.bin cannot be read")));
  remove("config.json");
  EXPECT_EQ(plan(run_).status().code, Code::kIncompatible) << "the optimizer is not dropped in silence";
  EXPECT_THAT(plan(run_).status().message, HasSubstr("optimizer.bin has no config.json next to it"));
}

TEST_F(TrainerFolder, AModelOfExpertsGoesOn) {
  for (const bool normed : {false, true}) {
    const recipe::ModelDims model = with_experts(normed);
    const std::string last = recipe::name_of(recipe::Part::kExpertUp, 1, 2);
    for (const auto& [fused, fused_file] : {std::pair{false, false}, {true, false}, {true, true}}) {
      put_experts(model, fused, fused_file);
      const auto run = plan(run_);
      ASSERT_TRUE(run.ok()) << normed << fused << fused_file << run.status().to_string();
      EXPECT_TRUE(run->train.has_value());
      EXPECT_EQ(run->tensors.size(), 3 * recipe::model_parameters(model).size());
      EXPECT_EQ(run->optimizer_steps, std::vector<std::uint64_t>(run->parameters.size(), 3));
      const std::vector<std::string> order = names(in_order_of_transformers(model, fused));
      const std::string theirs = fused    ? "model.layers.1.mlp.experts.gate_up_proj"
                                 : normed ? "model.layers.1.mlp.experts.2.up_proj.weight"
                                          : "model.layers.1.block_sparse_moe.experts.2.w3.weight";
      const auto place = static_cast<float>(std::ranges::find(order, theirs) - order.begin());
      EXPECT_EQ(first_moment(*run, last), place + (fused ? (2 * 2 + 1) * 20 * 12 : 0)) << "ups lie behind gates";
    }
  }
}

// Weights of compiled or wrapped models, and of those whose names a rule mends.
TEST_F(TrainerFolder, AStateFindsItsWeightBehindAnyPrefixAndRule) {
  const recipe::ModelDims model = testing::tiny_model();
  const std::string base = "model.", last = recipe::name_of(recipe::Part::kUp, 1);
  const Parameters order = in_order_of_transformers(model);
  const std::string theirs = "model.layers.1.mlp.up_proj.weight";
  const auto place = static_cast<float>(std::ranges::find(order, theirs, &ckpt::ParameterMeta::name) - order.begin());
  undecayed_ = true;
  for (const std::string prefix : {"_orig_mod.", "module.", "base.", "", "strange."}) {
    testing::RawTensors tensors;
    for (auto& [name, tensor] : testing::model_tensors(model)) {
      std::string own = prefix.empty() && name.starts_with(base) ? name.substr(base.size()) : prefix + name;
      if (prefix == "strange.") own = name == theirs ? "one.tensor" : name;
      tensors[own] = tensor;
    }
    for (const char* name : {"model.safetensors", "config.json", "optimizer.bin"}) remove(name);
    testing::make_hf_folder(fs_, "/f", model, tensors);
    put("optimizer.bin", "");
    for (const bool named : {false, true}) {
      spelled_.named = named;
      spelled_.prefix = named && prefix != "strange." ? prefix : "";
      put_again();
      source_ = hf_format().open(fs_, "/f").value();
      ImportOptions options;
      options.config = ckpt::with_rows(run_, {{"optimizer.rules", "[\"*norm* weight_decay=0\"]"}});
      if (prefix == "strange.") options.rules.rename = {{"one.tensor", theirs}};
      const auto run = source_->plan(options);
      ASSERT_TRUE(run.ok()) << prefix << named << run.status().to_string();
      EXPECT_EQ(run->tensors.size(), 3 * run->parameters.size());
      EXPECT_EQ(run->optimizer_steps, std::vector<std::uint64_t>(run->parameters.size(), 3));
      EXPECT_EQ(first_moment(*run, last), place) << prefix << named;
    }
  }
}

TEST_F(TrainerFolder, ARunWithDropoutDoesNotGoOn) {
  const std::string path = "/f/config.json";
  const auto bytes = ckpt::read_file(fs_, path, 1u << 20);
  ASSERT_TRUE(bytes.ok());
  const auto config = parse_json(path, ckpt::text_of(*bytes));
  ASSERT_TRUE(config.ok());
  for (const char* key : {"attention_dropout", "router_jitter_noise"}) {
    JsonValue dropped = *config;
    dropped.set(key, JsonValue::real(0.1));
    remove("config.json");
    put("config.json", dropped.write());
    expect_refused(Code::kIncompatible, std::string(key) + " is 0.1");
  }
}

TEST_F(TrainerFolder, WhatTheConfigurationSaysOfTheRunIsKept) {
  put_experts(with_experts(true), false, false);
  EXPECT_EQ(ckpt::setting(plan(run_)->train->accepted, "training.router_aux_loss"), "0.0") << "as config.json says";
  const Settings said = {{"training.document_mask", "true"},
                         {"training.ema", "0.99"},
                         {"training.loss_chunk", "8"},
                         {"training.norm_type", "inf"},
                         {"training.router_aux_loss", "0.5"}};
  const auto run = plan(ckpt::with_rows(run_, said));
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  for (const auto& [key, value] : said) EXPECT_EQ(ckpt::setting(run->train->accepted, key), value);
  EXPECT_THAT(run->notes, Contains(HasSubstr("training.ema = 0.99: there is no average of the parameters here")));
  EXPECT_THAT(run->notes, Contains(HasSubstr("compared with nothing, for no file says it: training.max_norm = 1.0")));
}

TEST_F(TrainerFolder, ADryRunSeesTheValuesThatAConversionRefuses) {
  spelled_.spoiled = 4;
  put_again();
  std::string said[2];
  for (const bool dry_run : {true, false}) {
    const Status refused =
        testing::convert_to(fs_, "/f", "/x", {.to = "titan", .dry_run = dry_run, .config = run_}).status();
    EXPECT_EQ(refused.code, Code::kIncompatible) << refused.to_string();
    said[dry_run ? 1 : 0] = refused.to_string();
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_THAT(said[0], HasSubstr("exp_avg of /f is nan"));
  EXPECT_FALSE(fs_.stat("/x").ok());
}

TEST_F(TrainerFolder, AStateThatIsNoObjectIsRefused) {
  for (const auto& [text, code] :
       {std::pair{"[]", Code::kIncompatible}, {"3", Code::kIncompatible}, {"", Code::kCorrupt}}) {
    put("trainer_state.json", text);
    const Status refused = plan(run_).status();
    EXPECT_EQ(refused.code, code) << text << refused.to_string();
    EXPECT_THAT(refused.message, HasSubstr("trainer_state.json"));
    if (code == Code::kIncompatible) {
      EXPECT_THAT(refused.hint, HasSubstr("--skip 'optimizer.*'"));
    }
    EXPECT_TRUE(plan(run_, {"optimizer.*"}).ok());
    remove("trainer_state.json");
  }
}

TEST_F(TrainerFolder, AnOptimizerThatIsNoFileIsNotDropped) {
  remove("optimizer.bin");
  ASSERT_TRUE(fs_.make_dir("/f/optimizer.pt").ok());
  expect_refused(Code::kUnsupported, "/f/optimizer.pt is a folder, expected a file");
  EXPECT_THAT(note_of_verify(), HasSubstr("optimizer.pt is a folder"));
  ASSERT_TRUE(fs_.remove_dir("/f/optimizer.pt").ok());
  ASSERT_TRUE(fs_.symlink("/nowhere", "/f/optimizer.pt").ok());
  expect_refused(Code::kUnsupported, "/f/optimizer.pt is a link that leads nowhere");
  remove("optimizer.pt");
  EXPECT_TRUE(plan(run_).ok()) << "a model alone";
}

TEST_F(TrainerFolder, AnOptimizerThatIsMissingBesideATrainersStateIsAskedFor) {
  remove("optimizer.bin");
  put("training_args.bin", "x");
  EXPECT_TRUE(plan(run_).ok()) << "what a published model has, too";
  for (const char* name : {"scheduler.pt", "trainer_state.json", "random_states_0.pkl"}) {
    put(name, "x");
    expect_refused(Code::kIncompatible, std::string("/f holds '") + name + "' of a trainer, but no optimizer.pt");
    remove(name);
  }
  ASSERT_TRUE(fs_.make_dir("/f/global_step3").ok());
  EXPECT_THAT(plan(run_).status().hint, HasSubstr("give /f/global_step3, where DeepSpeed has it"));
}

TEST_F(TrainerFolder, ADecayThatDiffersIsNamedWithItsParameter) {
  undecayed_ = true;
  put_again();
  const Status refused = plan(run_).status();
  EXPECT_THAT(refused.message, HasSubstr("the optimizer's weight_decay of layers.0.attention_norm.weight is 0.0, but"));
  EXPECT_THAT(refused.hint, HasSubstr("'optimizer.rules=[\"*norm* weight_decay=0\"]'"));
  EXPECT_TRUE(plan(ckpt::with_rows(run_, {{"optimizer.rules", "[\"*norm* weight_decay=0\"]"}})).ok());
  EXPECT_THAT(dcp::decay_hint({{"layers.0.attention.wq.bias", {4}, 0}}),
              HasSubstr("[\"*norm* weight_decay=0\", \"*.bias weight_decay=0\"]"));
}

TEST_F(TrainerFolder, ARateThatWasKeptAsFloat32IsTheConfigurations) {
  const Settings tenth = ckpt::with_rows(run_, {{"optimizer.lr", "0.1"}});
  for (const auto& [lr, same] : {std::pair{static_cast<double>(0.1F), true}, {0.1, true}, {0.1000001, false}}) {
    spelled_.lr = lr;
    put_again();
    EXPECT_EQ(plan(tenth).ok(), same) << lr;
  }
}

// RAdam with decoupled decay, an AdamW of transformers 4: both have exp_avg and exp_avg_sq, and update otherwise.
TEST_F(TrainerFolder, AnOptimizerThatOnlyLooksLikeAdamWIsRefused) {
  spelled_.adam = false;
  put_again();
  expect_refused(Code::kIncompatible, "the optimizer's groups have no amsgrad");
  spelled_.adam = true;
  spelled_.setting = "correct_bias";
  put_again();
  expect_refused(Code::kIncompatible, "correct_bias is not a setting of AdamW that is known here");
  spelled_.setting = "fused";
  put_again();
  const auto run = plan(run_);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_THAT(run->notes, Contains(dcp::kTakenForAdamW));
  spelled_.setting = "decoupled_weight_decay";
  put_again();
  EXPECT_THAT(plan(run_)->notes, Not(Contains(dcp::kTakenForAdamW)));
}

TEST_F(TrainerFolder, TheStepOfTheTrainerMustBeAdams) {
  for (const auto& [text, found] :
       {std::pair{"{\"global_step\": 4}", "global_step is 4, but Adam's count in optimizer.bin is 3"},
        {"{\"global_step\": \"3\"}", "global_step is \"3\""},
        {"{\"global_step\": 3.5}", "global_step is 3.5"},
        {"{\"global_step\": [3]}", "global_step is ["}}) {
    put("trainer_state.json", text);
    expect_refused(Code::kIncompatible, found);
    EXPECT_THAT(note_of_verify(), HasSubstr(found)) << "verify says so, too";
    remove("trainer_state.json");
  }
  put("trainer_state.json", "{}");
  EXPECT_TRUE(plan(run_).ok());
  spelled_.step = 2.5;
  put_again();
  expect_refused(Code::kIncompatible, "is 2.5, expected a whole number");
}

}  // namespace
}  // namespace titan::convert::trainer_state_test
