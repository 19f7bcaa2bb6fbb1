#include "converters/hf/hf_config.h"

#include <gtest/gtest.h>

namespace titan::convert::hf_config_test {
namespace {

using ckpt::Code;

// As transformers 4.57 wrote it.
constexpr const char* kLlama4 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "float32",
  "eos_token_id": 2, "head_dim": 10, "hidden_act": "silu", "hidden_size": 48, "initializer_range": 0.02, "intermediate_size": 80,
  "max_position_embeddings": 256, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 6, "num_hidden_layers": 2,
  "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-06,
  "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false, "transformers_version": "4.57.6", "use_cache": true, "vocab_size": 101})";
// As transformers 5.23 wrote them.
constexpr const char* kLlama5 = R"({
  "architectures": ["LlamaForCausalLM"], "dtype": "float32", "head_dim": 10, "hidden_act": "silu", "hidden_size": 48, "intermediate_size": 80,
  "model_type": "llama", "num_attention_heads": 6, "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": null, "rms_norm_eps": 1e-06,
  "rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_theta": 500000.0,
  "rope_type": "llama3"}, "tie_word_embeddings": false, "vocab_size": 101})";
constexpr const char* kQwen5 = R"({
  "architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 48, "intermediate_size": 80, "layer_types": ["full_attention", "full_attention"],
  "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 6, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
  "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "sliding_window": null, "tie_word_embeddings": true,
  "use_sliding_window": false, "vocab_size": 101})";
constexpr const char* kMistral4 = R"({
  "architectures": ["MistralForCausalLM"], "head_dim": null, "hidden_act": "silu", "hidden_size": 48, "intermediate_size": 80, "model_type": "mistral",
  "num_attention_heads": 6, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": null,
  "vocab_size": 101})";

JsonValue json(const char* text) {
  auto value = parse_json("config.json", text);
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *value : JsonValue();
}

recipe::ModelDims llama() {
  recipe::ModelDims model{.dim = 48,
                          .n_layers = 2,
                          .n_heads = 6,
                          .n_kv_heads = 2,
                          .head_dim = 10,
                          .ffn_dim = 80,
                          .vocab_size = 101,
                          .norm_eps = 1e-6};
  model.rope_scaling = recipe::RopeScaling{8, 1, 4, 64};
  return model;
}

TEST(HfConfig, ReadsTransformers4And5) {
  for (const char* text : {kLlama4, kLlama5}) {
    const auto model = read_hf_config("config.json", json(text));
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    EXPECT_EQ(*model, llama());
  }
}

TEST(HfConfig, ReadsQwen2AndMistral) {
  recipe::ModelDims qwen = llama();
  qwen.head_dim = 8;
  qwen.rope_theta = 10000;
  qwen.rope_scaling.reset();
  qwen.tied = qwen.qkv_bias = true;
  const auto model = read_hf_config("config.json", json(kQwen5));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(*model, qwen);
  const auto mistral = read_hf_config("config.json", json(kMistral4));
  ASSERT_TRUE(mistral.ok()) << mistral.status().to_string();
  EXPECT_EQ(mistral->head_dim, 8u);
  EXPECT_FALSE(mistral->qkv_bias || mistral->tied || mistral->rope_scaling);
}

TEST(HfConfig, TakesWhatOldConfigurationsLeaveOut) {
  const auto model = read_hf_config(
      "config.json", json(R"({"architectures":["LlamaForCausalLM"],"hidden_size":48,"intermediate_size":80,
    "num_attention_heads":6,"num_hidden_layers":2,"vocab_size":101})"));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->n_kv_heads, 6u);
  EXPECT_EQ(model->rope_theta, 10000);
  EXPECT_EQ(model->norm_eps, 1e-6);
}

struct Refusal {
  const char* key;
  const char* value;
  const char* message;
  Code code = Code::kUnsupported;
};

void expect_refusals(const char* base, std::initializer_list<Refusal> list) {
  for (const Refusal& refusal : list) {
    JsonValue config = json(base);
    if (refusal.value == nullptr)
      config.remove(refusal.key);
    else
      config.set(refusal.key, json(refusal.value));
    const auto model = read_hf_config("config.json", config);
    ASSERT_FALSE(model.ok()) << refusal.key << " " << refusal.message;
    EXPECT_EQ(model.status().code, refusal.code) << model.status().to_string();
    EXPECT_NE(model.status().to_string().find(refusal.message), std::string::npos) << model.status().to_string();
  }
}

TEST(HfConfig, RefusesByNameWhatTheModelHasNot) {
  expect_refusals(kLlama4,
                  {
                      {"architectures", R"(["Qwen2MoeForCausalLM"])", "no experts that all tokens share"},
                      {"architectures", R"(["GemmaForCausalLM"])",
                       "'GemmaForCausalLM' is not supported: Titan's model has no scaled embeddings, GELU and norms "
                       "with an offset"},
                      {"architectures", R"(["Gemma2ForCausalLM"])", "capped logits and sliding windows"},
                      {"architectures", R"(["Phi3ForCausalLM"])", "no fused projections"},
                      {"architectures", R"(["FancyForCausalLM"])", "'FancyForCausalLM' is not supported"},
                      {"architectures", R"([7])", "'' is not supported"},
                      {"hidden_act", "\"gelu\"", "the activation is 'gelu'"},
                      {"attention_bias", "true", "attention_bias"},
                      {"mlp_bias", "true", "mlp_bias"},
                      {"quantization_config", "{}", "quantized"},
                      {"rope_scaling", R"({"type":"mrope","factor":2.0})", "scaled as 'mrope'"},
                      {"rope_scaling", R"({"rope_type":"proportional","factor":2.0})", "scaled as 'proportional'"},
                      {"rope_parameters", R"({"rope_type":"default","rope_theta":5e5,"partial_rotary_factor":0.5})",
                       "partial_rotary_factor"},
                      {"head_dim", "7", "is odd"},
                      {"num_key_value_heads", "4", "not a multiple"},
                      {"num_hidden_layers", "1000000", "at most 100000"},
                      {"vocab_size", "99999999999999", "expected 1 to 2^31"},
                  });
  expect_refusals(kLlama4, {{"use_sliding_window", "true", "use_sliding_window"}});
  expect_refusals(kMistral4, {{"sliding_window", "0", "of no tokens"},
                              {"layer_types", R"(["full_attention","sliding_attention"])", "layer_types"}});
  expect_refusals(kQwen5, {{"layer_types", R"(["full_attention","sliding_attention"])", "layer_types"},
                           {"layer_types", R"(["full_attention","chunked_attention"])", "layer_types"},
                           {"layer_types", R"([3, 4])", "layer_types"}});
}

JsonValue with(const char* base, const std::vector<std::pair<const char*, const char*>>& members) {
  JsonValue config = json(base);
  for (const auto& [key, text] : members) config.set(key, json(text));
  return config;
}

/// What is read, and read again from what is written of it.
recipe::SlidingWindow window_of(const JsonValue& config) {
  const auto model = read_hf_config("config.json", config);
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  if (!model.ok()) return {};
  const auto again = read_hf_config("config.json", write_hf_config(*model, {}, {}));
  EXPECT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_TRUE(again.ok() && *again == *model);
  return model->window;
}

TEST(HfConfig, ReadsTheWindowsOfMistralAndQwen) {
  using recipe::SlidingWindow;
  JsonValue silent = json(kMistral4);
  silent.remove("sliding_window");
  EXPECT_EQ(window_of(silent), (SlidingWindow{4096, {}})) << "transformers' default";
  EXPECT_EQ(window_of(json(kMistral4)), SlidingWindow{});
  EXPECT_EQ(window_of(with(kMistral4, {{"sliding_window", "100"}})), (SlidingWindow{100, {}}));
  const auto qwen = [](std::vector<std::pair<const char*, const char*>> members) {
    members.insert(members.begin(), {{"use_sliding_window", "true"}, {"sliding_window", "64"}});
    return window_of(with(kQwen5, members));
  };
  EXPECT_EQ(qwen({}), SlidingWindow{}) << "layer_types wins";
  EXPECT_EQ(qwen({{"layer_types", R"(["full_attention","sliding_attention"])"}}), (SlidingWindow{64, {{1, 1}}}));
  EXPECT_EQ(qwen({{"layer_types", "null"}}), SlidingWindow{}) << "28 layers without";
  EXPECT_EQ(qwen({{"layer_types", "null"}, {"max_window_layers", "1"}}), (SlidingWindow{64, {{1, 1}}}));
  EXPECT_EQ(qwen({{"layer_types", "null"}, {"max_window_layers", "0"}}), (SlidingWindow{64, {}}));
  const auto longer = read_hf_config("config.json", with(kQwen5, {{"use_sliding_window", "true"},
                                                                  {"sliding_window", "64"},
                                                                  {"layer_types", R"(["sliding_attention"])"}}));
  EXPECT_NE(longer.status().message.find("layer_types has 1 entries, expected num_hidden_layers, 2"),
            std::string::npos);
}

TEST(HfConfig, ReadsOlmo2) {
  JsonValue config = with(kMistral4, {{"architectures", R"(["Olmo2ForCausalLM"])"}, {"model_type", R"("olmo2")"}});
  config.remove("rms_norm_eps");
  const auto model = read_hf_config("config.json", config);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_TRUE(model->qk_norm && model->whole_qk_norm && model->post_norm);
  EXPECT_EQ(model->norm_eps, 1e-5);
  EXPECT_EQ(model->window, recipe::SlidingWindow{});
  const JsonValue written = write_hf_config(*model, {}, {});
  EXPECT_EQ(*written.find("model_type")->text(), "olmo2");
  EXPECT_EQ(*read_hf_config("config.json", written), *model);
}

TEST(HfConfig, ReadsModelsOfExperts) {
  JsonValue mixtral = with(kMistral4, {{"architectures", R"(["MixtralForCausalLM"])"},
                                       {"model_type", R"("mixtral")"},
                                       {"num_local_experts", "6"},
                                       {"sliding_window", "null"}});
  mixtral.remove("rope_theta");
  const auto model = read_hf_config("config.json", mixtral);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(std::tuple(model->experts, model->n_experts, model->experts_per_token, model->route_norm),
            std::tuple(true, 6, 2, true));
  EXPECT_EQ(model->rope_theta, 1e6);
  EXPECT_EQ(window_of(mixtral), recipe::SlidingWindow{});
  EXPECT_EQ(window_of(with(kMistral4, {{"architectures", R"(["MixtralForCausalLM"])"},
                                       {"model_type", R"("mixtral")"},
                                       {"sliding_window", "9"}})),
            (recipe::SlidingWindow{9, {}}));

  const JsonValue qwen = with(kMistral4, {{"architectures", R"(["Qwen3MoeForCausalLM"])"},
                                          {"model_type", R"("qwen3_moe")"},
                                          {"num_experts", "6"},
                                          {"num_experts_per_tok", "3"},
                                          {"moe_intermediate_size", "24"},
                                          {"norm_topk_prob", "true"}});
  const auto other = read_hf_config("config.json", qwen);
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_EQ(std::tuple(other->qk_norm, other->n_experts, other->experts_per_token, other->route_norm, other->ffn_dim),
            std::tuple(true, 6, 3, true, 24));
  EXPECT_EQ(*read_hf_config("config.json", write_hf_config(*other, {}, {})), *other);
  JsonValue five = qwen;  // in transformers 5's word
  five.remove("num_experts");
  five.set("num_local_experts", json("6"));
  EXPECT_EQ(*read_hf_config("config.json", five), *other);
  EXPECT_EQ(write_hf_config(*other, five, {}).find("num_experts")->as_u64(), 6u);
  for (const auto& [key, text] : {std::pair{"decoder_sparse_step", "2"}, std::pair{"mlp_only_layers", "[1]"}}) {
    JsonValue some = qwen;
    some.set(key, json(text));
    EXPECT_EQ(read_hf_config("config.json", some).status().code, Code::kUnsupported) << key;
  }
  JsonValue shaken = mixtral;
  shaken.set("router_jitter_noise", json("0.1"));
  EXPECT_EQ(read_hf_config("config.json", shaken).status().code, Code::kUnsupported);
  JsonValue many = mixtral;
  many.set("num_experts_per_tok", json("7"));
  EXPECT_NE(read_hf_config("config.json", many).status().to_string().find("expected 1 to model.n_experts"),
            std::string::npos);
}

TEST(HfConfig, RefusesAnArchitectureOfAnotherTypeThanTheModels) {
  expect_refusals(
      kLlama4,
      {
          {"model_type", "\"mistral\"",
           "model_type is 'mistral', but the architecture is 'LlamaForCausalLM', which is of the type 'llama'"},
          {"model_type", "\"granite\"", "model_type is 'granite'"},
          {"architectures", R"(["Qwen2ForCausalLM"])",
           "model_type is 'llama', but the architecture is 'Qwen2ForCausalLM'"},
      });
}

TEST(HfConfig, RefusesTwoDescriptionsOfRopeThatDiffer) {
  expect_refusals(
      kLlama5,
      {
          {"rope_scaling", R"({"type":"yarn","factor":4.0,"original_max_position_embeddings":64})",
           "rope_parameters and rope_scaling scale frequencies differently"},
          {"rope_scaling", R"({"rope_type":"default"})",
           "rope_parameters and rope_scaling scale frequencies differently"},
          {"rope_scaling",
           R"({"type":"llama3","factor":4.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":64})",
           "differently"},
          {"rope_theta", "10000.0", "rope_theta is 10000.0, rope_parameters.rope_theta is 500000.0"},
      });
  expect_refusals(
      kLlama4,
      {
          {"rope_scaling",
           R"({"type":"linear","rope_type":"llama3","factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":64})",
           "has the rope_type 'llama3' and the type 'linear'"},
          {"rope_scaling", R"({"type":"default","rope_theta":700.0})",
           "rope_theta is 500000.0, rope_scaling.rope_theta is 700.0"},
      });
  JsonValue config = json(kLlama5);  // both, and they agree
  config.set("rope_theta", json("500000"));
  config.set("rope_scaling", *json(kLlama4).find("rope_scaling"));
  const auto model = read_hf_config("config.json", config);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(*model, llama());
}

TEST(HfConfig, RefusesWhatIsMissingOrOfAnotherType) {
  expect_refusals(kLlama4, {
                               {"hidden_size", nullptr, "'hidden_size' is missing", Code::kIncompatible},
                               {"hidden_size", "\"48\"", "'hidden_size' is not an integer", Code::kIncompatible},
                               {"hidden_size", "48.5", "'hidden_size' is not an integer", Code::kIncompatible},
                               {"tie_word_embeddings", "1", "is not true or false", Code::kIncompatible},
                               {"hidden_act", "1", "'hidden_act' is not a text", Code::kIncompatible},
                               {"rope_scaling", "[]", "not an object", Code::kIncompatible},
                               {"rope_scaling", R"({"rope_type":"llama3","factor":8.0})",
                                "'low_freq_factor' is missing", Code::kIncompatible},
                           });
  EXPECT_EQ(read_hf_config("config.json", json("[]")).status().code, Code::kIncompatible);
}

TEST(HfConfig, AWholeFloatIsAnInteger) {
  JsonValue config = json(kLlama4);
  const auto exact = read_hf_config("config.json", config);
  config.set("vocab_size", JsonValue::real(static_cast<double>(*config.find("vocab_size")->as_u64())));
  JsonValue scaling = *config.find("rope_scaling");
  scaling.set("original_max_position_embeddings",
              JsonValue::real(static_cast<double>(*scaling.find("original_max_position_embeddings")->as_u64())));
  config.set("rope_scaling", scaling);
  config.set("rope_theta", JsonValue::integer(500000));
  const auto read = read_hf_config("config.json", config);
  ASSERT_TRUE(exact.ok() && read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, *exact);
}

TEST(HfConfig, QuantizedWeightsAreRefusedWithTheirMethod) {
  expect_refusals(kLlama4, {{"quantization_config", R"({"quant_method":"gptq","bits":4})", "quantized by gptq"},
                            {"quantization_config", R"({"load_in_4bit":true})", "quantized (quantization_config)"},
                            {"quantization", R"({"group_size":64,"bits":4})", "quantized (quantization)"}});
}

TEST(HfConfig, ReadsBackWhatItWrites) {
  for (int variant = 0; variant < 8; ++variant) {
    recipe::ModelDims model = llama();
    model.tied = (variant & 1) != 0;
    model.qkv_bias = (variant & 2) != 0;
    if ((variant & 4) != 0) model.rope_scaling.reset();
    const JsonValue config = write_hf_config(model, {}, {.dtype = "bfloat16", .max_positions = 512});
    const auto again = read_hf_config("config.json", json(config.write().c_str()));
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(*again, model);
    // Without the key of transformers 5, as transformers 4 sees it.
    JsonValue four = config;
    four.remove("rope_parameters");
    const auto old = read_hf_config("config.json", four);
    ASSERT_TRUE(old.ok()) << old.status().to_string();
    EXPECT_EQ(*old, model);
  }
}

TEST(HfConfig, KeepsTheModelsOwnConfigurationButForTheType) {
  const JsonValue base = json(kLlama4);
  JsonValue both = base;
  both.set("rope_parameters", *json(kLlama5).find("rope_parameters"));
  EXPECT_EQ(write_hf_config(llama(), base, {.dtype = "float32"}), both);
  const JsonValue cast = write_hf_config(llama(), base, {.dtype = "bfloat16"});
  EXPECT_EQ(*cast.find("dtype")->text(), "bfloat16");
  EXPECT_EQ(cast.find("eos_token_id")->as_u64(), 2u);
  recipe::ModelDims other = llama();
  other.vocab_size = 102;
  EXPECT_EQ(write_hf_config(other, base, {}).find("eos_token_id"), nullptr);  // it is not this model's
}

TEST(HfConfig, KeepsTheTokensOfTheVocabularyWhereTheModelIsAnother) {
  JsonValue base = json(kLlama4);
  base.set("max_position_embeddings", JsonValue::integer(900));
  recipe::ModelDims other = llama();
  other.rope_theta = 77;
  EXPECT_FALSE(describes(base, other));
  const JsonValue config = write_hf_config(other, base, {.max_positions = 300});
  EXPECT_EQ(config.find("eos_token_id")->as_u64(), 2u);
  EXPECT_EQ(config.find("max_position_embeddings")->as_u64(), 900u);
  EXPECT_EQ(write_hf_config(other, base, {.max_positions = 1300}).find("max_position_embeddings")->as_u64(), 1300u);
  EXPECT_EQ(*read_hf_config("config.json", config), other);
}

TEST(HfConfig, AllowsAContextAsLongAsWhatWasTrained) {
  JsonValue base = json(kLlama4);
  base.set("max_position_embeddings", JsonValue::integer(900));
  const auto context = [&](std::uint64_t trained) {
    return write_hf_config(llama(), base, {.trained_positions = trained}).find("max_position_embeddings")->as_u64();
  };
  EXPECT_EQ(context(0), 900u);
  EXPECT_EQ(context(128), 900u);
  EXPECT_EQ(context(901), 901u);
  base.remove("max_position_embeddings");
  EXPECT_EQ(write_hf_config(llama(), base, {.trained_positions = 5000}).find("max_position_embeddings"), nullptr)
      << "models differ in their defaults";
}

// transformers 4 passes over rope_parameters in silence, transformers 5 over nothing; so a folder of either gets the
// words of both.
TEST(HfConfig, AnExportAlwaysDescribesRopeForBothVersions) {
  for (const char* text : {kLlama4, kLlama5, kQwen5, kMistral4}) {
    const auto model = read_hf_config("config.json", json(text));
    ASSERT_TRUE(model.ok());
    const JsonValue config = write_hf_config(*model, json(text), {.dtype = "float32"});
    for (const std::vector<const char*>& others :
         {std::vector{"rope_parameters"}, std::vector{"rope_scaling", "rope_theta"}}) {
      JsonValue one = config;
      for (const char* key : others) one.remove(key);
      const auto read = read_hf_config("config.json", one);
      ASSERT_TRUE(read.ok()) << read.status().to_string();
      EXPECT_EQ(*read, *model) << "without " << others.front() << " of " << text;
    }
  }
}

}  // namespace
}  // namespace titan::convert::hf_config_test
