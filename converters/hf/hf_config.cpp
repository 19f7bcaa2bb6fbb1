#include "converters/hf/hf_config.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "converters/hf/fields.h"
#include "converters/hf/rope_settings.h"
#include "converters/json_file.h"

namespace titan::convert {

using ckpt::incompatible;
using ckpt::Result;
using ckpt::Status;
using ckpt::unsupported;
using recipe::ModelDims;

namespace {

// A part that a well-known architecture needs and Titan's model lacks, for an error.
struct Lack {
  const char* architecture;
  const char* what;
};
constexpr Lack kLacks[] = {
    {"Qwen2MoeForCausalLM", "experts that all tokens share"},
    {"OlmoeForCausalLM", "norms of all queries and keys at once in addition to norms before the blocks"},
    {"DeepseekV2ForCausalLM", "latent attention and experts"},
    {"DeepseekV3ForCausalLM", "latent attention and experts"},
    {"SmolLM3ForCausalLM", "layers without RoPE"},
    {"Llama4ForCausalLM", "experts and layers without RoPE"},
    {"Llama4ForConditionalGeneration", "experts, layers without RoPE and images"},
    {"GemmaForCausalLM", "scaled embeddings, GELU and norms with an offset"},
    {"Gemma2ForCausalLM", "scaled embeddings, GELU, capped logits and sliding windows"},
    {"Gemma3ForCausalLM", "scaled embeddings, GELU and sliding windows"},
    {"Phi3ForCausalLM", "fused projections"},
    {"GPT2LMHeadModel", "learned positions, layer norms and GELU"},
    {"GPTNeoXForCausalLM", "layer norms, GELU and partial RoPE"},
    {"OlmoForCausalLM", "norms without parameters"},
    {"Olmo3ForCausalLM", "RoPE that differs between layers"},
    {"GraniteForCausalLM", "scaled embeddings, residuals and logits"},
    {"FalconForCausalLM", "layer norms and fused projections"},
};

const HfFamily* find_family(Fields& fields, const HfFamilies& families) {
  const std::string type = fields.text("model_type", "");
  const auto by_type = std::ranges::find(families, type, &HfFamily::model_type);
  const JsonValue* architectures = fields.list("architectures");
  if (architectures == nullptr || architectures->items().empty()) {
    if (by_type != families.end()) return &*by_type;
    fields.fail(unsupported(fields.what() + ": model type '" + type + "' is not one of " +
                            ckpt::joined(families, ", ", &HfFamily::model_type)));
    return nullptr;
  }
  const std::string name = architectures->items()[0].text() != nullptr ? *architectures->items()[0].text() : "";
  const auto found = std::ranges::find(families, name, &HfFamily::architecture);
  if (found != families.end()) {
    // transformers selects by the type and ignores the architecture.
    if (!type.empty() && type != found->model_type) {
      fields.fail(unsupported(fields.what() + ": model_type is '" + type + "', but the architecture is '" + name +
                              "', which is of the type '" + found->model_type + "'")
                      .with_hint("correct the one that is wrong"));
    }
    return &*found;
  }
  const auto known = std::ranges::find(kLacks, name, [](const Lack& lack) { return std::string(lack.architecture); });
  std::string missing = known == std::end(kLacks) ? "" : ": Titan's model has no " + std::string(known->what);
  for (const HfFamily& family : families) {
    const std::string& whole = family.architecture;
    if (name == whole.substr(0, whole.find("ForCausalLM")) + "Model")
      missing = ": it has no head; save the model as " + whole;
  }
  fields.fail(unsupported(fields.what() + ": architecture '" + name + "' is not supported" + missing)
                  .with_hint("supported are " + ckpt::joined(families, ", ", &HfFamily::architecture)));
  return nullptr;
}

// Refuses every setting with which transformers' model computes something else than Titan's model.
void refuse_lacks(Fields& fields, const HfFamily& family) {
  const std::string activation = fields.text("hidden_act", "silu");
  if (activation != "silu") fields.lack("the activation is '" + activation + "'");
  for (const char* key : {"quantization_config", "quantization"}) {
    const JsonValue* const quantized = fields.find(key);
    const JsonValue* const method = quantized != nullptr ? quantized->find("quant_method") : nullptr;
    if (quantized == nullptr) continue;
    if (method != nullptr && method->text() != nullptr && *method->text() == "fp8") continue;  // float8.h
    const std::string by = method != nullptr && method->text() != nullptr ? " by " + *method->text() : "";
    fields.fail(unsupported(fields.what() + ": the weights are quantized" + by + " (" + key + ")")
                    .with_hint("take the model that it was made from, or dequantize() it in transformers, then "
                               "save_pretrained(OUT)"));
  }
  if (!family.has(&ModelDims::qkv_bias) && fields.flag("attention_bias", false))
    fields.lack("attention_bias puts a bias on the output projection too");
  if (fields.flag("mlp_bias", false)) fields.lack("mlp_bias puts biases on the feed-forward layers");
}

constexpr const char *kWindow = "sliding_window", *kLayerTypes = "layer_types", *kSliding = "sliding_attention",
                     *kFull = "full_attention";

// The layers with a sliding window: those that layer_types lists, or those given by max_window_layers if that key is
// missing.
ckpt::SampleRanges window_layers(Fields& fields, const ModelDims& model) {
  const JsonValue* types = fields.list(kLayerTypes);
  ckpt::SampleRanges layers;
  const auto count = static_cast<std::uint64_t>(model.n_layers);
  if (types == nullptr) {
    const auto first = static_cast<std::uint64_t>(fields.whole("max_window_layers", 28));
    if (first < count) layers.push_back({first, count - first});
    return layers;
  }
  if (types->items().size() != count)
    fields.fail(incompatible(fields.what() + ": layer_types has " + std::to_string(types->items().size()) +
                             " entries, expected num_hidden_layers, " + std::to_string(count)));
  for (std::uint64_t i = 0; i < types->items().size(); ++i)
    if (*types->items()[i].text() == kSliding) layers.push_back({i, 1});
  return ckpt::in_order(std::move(layers));
}

// \source transformers, configuration_mistral.py, configuration_mixtral.py, configuration_qwen2.py,
// configuration_qwen3_moe.py
void read_window(Fields& fields, const HfFamily& family, ModelDims& model) {
  using enum HfFamily::Window;
  bool sliding = false;
  for (const JsonValue& layer :
       fields.list(kLayerTypes) == nullptr ? std::vector<JsonValue>{} : fields.list(kLayerTypes)->items()) {
    const bool slides = layer.text() != nullptr && *layer.text() == kSliding;
    sliding = sliding || slides;
    if (!slides && (layer.text() == nullptr || *layer.text() != kFull))
      return fields.lack("layers have another attention than full or within a window (layer_types)");
  }
  const bool switched = family.window == kSwitched || family.window == kSwitchedLayers,
             on = !switched || fields.flag("use_sliding_window", false);
  if (sliding && (!on || family.window != kSwitchedLayers))
    return fields.lack("layer_types has layers with a sliding window, which the rest of the configuration has not");
  if (!switched && fields.flag("use_sliding_window", false))
    return fields.lack("attention has a sliding window (use_sliding_window)");
  if (!on || family.window == kNone || fields.says_null(kWindow)) return;
  if (family.window == kIfGiven && fields.find(kWindow) == nullptr) return;
  const std::int64_t tokens = fields.whole(kWindow, 4096);
  if (tokens == 0) return fields.lack("attention has a sliding window of no tokens (sliding_window)");
  const ckpt::SampleRanges layers =
      family.window == kSwitchedLayers ? window_layers(fields, model) : ckpt::SampleRanges{};
  if (family.window == kSwitchedLayers && layers.empty()) return;
  const bool all = layers.empty() || layers.front().count == static_cast<std::uint64_t>(model.n_layers);
  model.window = {tokens, all ? ckpt::SampleRanges{} : layers};
}

void write_window(const HfFamily& family, const ModelDims& model, JsonValue& config) {
  using enum HfFamily::Window;
  const bool has = model.window.tokens != 0;
  if (has && family.window == kSwitchedLayers) {
    std::vector<JsonValue> types;
    std::int64_t first = model.n_layers;
    for (std::int64_t i = model.n_layers - 1; i >= 0; --i)
      if (model.window.of(i) != 0) first = i;
    for (std::int64_t i = 0; i < model.n_layers; ++i)
      types.push_back(JsonValue::string(model.window.of(i) != 0 ? kSliding : kFull));
    config.set(kLayerTypes, JsonValue::list(std::move(types)));
    config.set("max_window_layers", JsonValue::integer(static_cast<std::uint64_t>(first)));
  }
  if (has) config.set(kWindow, JsonValue::integer(static_cast<std::uint64_t>(model.window.tokens)));
  if (!has && family.window == kAlways) config.set(kWindow, JsonValue());
  if (has && (family.window == kSwitched || family.window == kSwitchedLayers))
    config.set("use_sliding_window", JsonValue::boolean(true));
}

constexpr const char* kExperts = "num_experts";

// A model with norms of queries and keys is Qwen3-MoE. Without them it is Mixtral, which has other key names.
void read_experts(Fields& fields, const HfFamily& family, ModelDims& model) {
  if (!family.has(&ModelDims::experts)) return;
  const bool mixtral = !family.has(&ModelDims::qk_norm);
  // transformers 5 writes num_local_experts for both.
  model.n_experts =
      fields.find(kExperts) != nullptr ? fields.whole(kExperts) : fields.whole("num_local_experts", mixtral ? 8 : 128);
  model.experts_per_token = fields.whole("num_experts_per_tok", mixtral ? 2 : 8);
  model.route_norm = mixtral || fields.flag("norm_topk_prob", false);
  if (mixtral) {
    if (fields.real("router_jitter_noise", 0) != 0)
      fields.lack("what the router reads is shaken (router_jitter_noise)");
    return;
  }
  model.ffn_dim = fields.whole("moe_intermediate_size", 768);
  const JsonValue* dense = fields.list("mlp_only_layers");
  if (fields.whole("decoder_sparse_step", 1) != 1 || (dense != nullptr && !dense->items().empty()))
    fields.lack("only some layers have experts (decoder_sparse_step, mlp_only_layers)");
}

void write_experts(const HfFamily& family, const ModelDims& model, JsonValue& config) {
  if (!model.experts) return;
  const auto size = [&](const char* key, std::int64_t value) {
    config.set(key, JsonValue::integer(static_cast<std::uint64_t>(value)));
  };
  size("num_experts_per_tok", model.experts_per_token);
  if (!family.has(&ModelDims::qk_norm)) return size("num_local_experts", model.n_experts);
  size(kExperts, model.n_experts);
  size("moe_intermediate_size", model.ffn_dim);
  size("decoder_sparse_step", 1);
  config.set("mlp_only_layers", JsonValue::list({}));
  config.set("norm_topk_prob", JsonValue::boolean(model.route_norm));
}

constexpr const char* kContext = "max_position_embeddings";

// The context length in a configuration; 0 if it has none, because transformers' default depends on the model.
std::uint64_t context_of(const JsonValue& config) {
  const JsonValue* value = config.find(kContext);
  return value == nullptr ? 0 : value->as_u64().value_or(0);
}

// Sets the context length to `context` if it is shorter. It stays if the RoPE scaling is computed from it.
void lengthen(JsonValue& config, const ModelDims& model, std::uint64_t context) {
  JsonValue longer = config;
  longer.set(kContext, JsonValue::integer(context));
  if (describes(longer, model)) config = std::move(longer);
}

// Keeps the special tokens of `base`: their ids have the same meaning in another model with the same vocabulary.
void keep_token_facts(JsonValue& config, const JsonValue& base, const ModelDims& model) {
  const JsonValue* vocabulary = base.find("vocab_size");
  if (vocabulary == nullptr || vocabulary->as_u64() != config.find("vocab_size")->as_u64()) return;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const JsonValue* token = base.find(key)) config.set(key, *token);
  lengthen(config, model, std::max(context_of(base), context_of(config)));
}

}  // namespace

bool describes(const JsonValue& base, const ModelDims& model) {
  if (!base.is_object()) return false;
  const Result<ModelDims> described = read_hf_config("config.json", base);
  return described.ok() && *described == model;
}

Result<ModelDims> read_hf_config(const std::string& what, const JsonValue& config, const HfFamilies& families) {
  if (!config.is_object()) return no_json_object(what, config.write().front());
  Fields fields(what, config);
  const HfFamily* family = find_family(fields, families);
  if (family == nullptr) return fields.status();
  refuse_lacks(fields, *family);
  ModelDims model;
  model.dim = fields.whole("hidden_size");
  model.n_layers = fields.whole("num_hidden_layers");
  model.n_heads = fields.whole("num_attention_heads");
  model.n_kv_heads =
      fields.whole("num_key_value_heads", family->default_kv_heads != 0 ? family->default_kv_heads : model.n_heads);
  model.ffn_dim = fields.whole("intermediate_size");
  model.vocab_size = fields.whole("vocab_size");
  model.norm_eps = fields.real("rms_norm_eps", family->default_eps);
  model.tied = fields.flag("tie_word_embeddings", false);
  for (bool ModelDims::*const on : family->switches) model.*on = true;
  const bool derived = fields.find("head_dim") == nullptr && family->default_head_dim == 0 && model.n_heads != 0;
  if (derived && model.dim % model.n_heads != 0)
    fields.fail(incompatible(what + ": hidden_size " + std::to_string(model.dim) +
                             " is not a multiple of num_attention_heads " + std::to_string(model.n_heads)));
  model.head_dim = fields.whole("head_dim", derived ? model.dim / model.n_heads : family->default_head_dim);
  read_experts(fields, *family, model);
  read_window(fields, *family, model);
  read_hf_rope(fields, family->default_theta, model);
  if (!fields.status().ok()) return fields.status();
  if (const Status checked = recipe::check_dims(model); !checked.ok())
    return checked.wrapped(what + " describes a model that Titan cannot have");
  return model;
}

JsonValue write_hf_config(const ModelDims& model, const JsonValue& base, const HfDefaults& defaults,
                          const HfFamilies& families) {
  if (describes(base, model)) {
    JsonValue config = base;
    config.remove("quantization_config");  // what is written has no scales
    const char* key =
        config.find("dtype") == nullptr && config.find("torch_dtype") != nullptr ? "torch_dtype" : "dtype";
    config.set(key, JsonValue::string(defaults.dtype));
    if (base.find(kContext) != nullptr && context_of(base) < defaults.trained_positions)
      lengthen(config, model, defaults.trained_positions);
    add_both_ropes(config, model);
    // transformers 4 reads Qwen3-MoE's number of experts only here.
    if (model.experts && model.qk_norm && config.find(kExperts) == nullptr)
      config.set(kExperts, JsonValue::integer(static_cast<std::uint64_t>(model.n_experts)));
    return config;
  }
  const HfFamily& family = *family_for(model, families);
  const bool biased = family.has(&ModelDims::qkv_bias);
  JsonValue config = JsonValue::object();
  config.set("architectures", JsonValue::list({JsonValue::string(family.architecture)}));
  if (!biased) config.set("attention_bias", JsonValue::boolean(false));
  config.set("attention_dropout", JsonValue::real(0));
  config.set("bos_token_id", JsonValue());  // otherwise transformers assumes Llama's
  config.set("dtype", JsonValue::string(defaults.dtype));
  config.set("eos_token_id", JsonValue());
  config.set("head_dim", JsonValue::integer(model.head_dim));
  config.set("hidden_act", JsonValue::string("silu"));
  config.set("hidden_size", JsonValue::integer(model.dim));
  config.set("initializer_range", JsonValue::real(0.02));
  config.set("intermediate_size", JsonValue::integer(model.ffn_dim));
  config.set(kContext, JsonValue::integer(written_context(model, defaults.max_positions)));
  if (!biased) config.set("mlp_bias", JsonValue::boolean(false));
  config.set("model_type", JsonValue::string(family.model_type));
  config.set("num_attention_heads", JsonValue::integer(model.n_heads));
  config.set("num_hidden_layers", JsonValue::integer(model.n_layers));
  config.set("num_key_value_heads", JsonValue::integer(model.n_kv_heads));
  config.set("rms_norm_eps", JsonValue::real(model.norm_eps));
  add_both_ropes(config, model);
  config.set("tie_word_embeddings", JsonValue::boolean(model.tied));
  write_window(family, model, config);
  write_experts(family, model, config);
  if (model.post_norm) config.set("pad_token_id", JsonValue());  // otherwise transformers assumes OLMo 2's
  config.set("use_cache", JsonValue::boolean(true));
  config.set("vocab_size", JsonValue::integer(model.vocab_size));
  keep_token_facts(config, base, model);
  return config;
}

}  // namespace titan::convert
