#include "converters/hf/hf_config.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/toml_text.h"

namespace titan::convert {

using ckpt::incompatible;
using ckpt::Result;
using ckpt::Status;
using ckpt::unsupported;
using recipe::ModelDims;
using recipe::RopeScaling;

namespace {

struct Family {
  const char* architecture;
  const char* model_type;
  std::int64_t default_kv_heads;  ///< transformers' default; 0: as many as query heads
  bool qkv_bias;
};
constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", "llama", 0, false},
    {"MistralForCausalLM", "mistral", 8, false},
    {"Qwen2ForCausalLM", "qwen2", 32, true},
};

// What our model lacks for well-known others.
struct Lack {
  const char* architecture;
  const char* what;
};
constexpr Lack kLacks[] = {
    {"Qwen3ForCausalLM", "norms of queries and keys"},
    {"Qwen2MoeForCausalLM", "experts"},
    {"Qwen3MoeForCausalLM", "experts"},
    {"MixtralForCausalLM", "experts"},
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
    {"Olmo2ForCausalLM", "norms after the blocks and of queries and keys"},
    {"GraniteForCausalLM", "scaled embeddings, residuals and logits"},
    {"FalconForCausalLM", "layer norms and fused projections"},
};

// Reads members of known type; the first error sticks.
class Fields {
 public:
  Fields(const std::string& what, const JsonValue& object) : what_(what), object_(object) {}

  const JsonValue* find(std::string_view key) const { return object_.find(key); }
  std::int64_t whole(std::string_view key, std::optional<std::int64_t> absent = {}) {
    return recipe::to_dimension(get(key, std::optional<std::uint64_t>(absent), &JsonValue::as_u64, "an integer"));
  }
  double real(std::string_view key, std::optional<double> absent = {}) {
    return get(key, absent, &JsonValue::as_double, "a number");
  }
  bool flag(std::string_view key, bool absent) {
    return get(key, std::optional(absent), &JsonValue::as_bool, "true or false");
  }
  std::string text(std::string_view key, const std::string& absent) {
    const JsonValue* value = find(key);
    if (value == nullptr) return absent;
    if (value->text() != nullptr) return *value->text();
    fail(incompatible(what_ + ": '" + std::string(key) + "' is not a text"));
    return absent;
  }
  /// transformers gives Mistral a window of 4,096 where the key is missing; only null means none.
  bool says_null(std::string_view key) const {
    return std::ranges::any_of(object_.members(), [&](const JsonValue::Member& member) {
      return member.first == key && member.second.is_null();
    });
  }
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  /// Refuses a model that needs `what`.
  void lack(const std::string& what) { fail(unsupported(what_ + ": " + what + ", which Titan's model has not")); }
  const Status& status() const { return status_; }
  const std::string& what() const { return what_; }

 private:
  template <typename T>
  T get(std::string_view key, std::optional<T> absent, std::optional<T> (JsonValue::*as)() const,
        const char* expected) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
      if (!absent) fail(incompatible(what_ + ": '" + std::string(key) + "' is missing"));
      return absent.value_or(T{});
    }
    const std::optional<T> read = (value->*as)();
    if (!read) fail(incompatible(what_ + ": '" + std::string(key) + "' is not " + expected));
    return read.value_or(T{});
  }

  std::string what_;
  const JsonValue& object_;
  Status status_;
};

const Family* find_family(Fields& fields) {
  const std::string type = fields.text("model_type", "");
  std::string name = type;
  const auto by_type =
      std::ranges::find(kFamilies, name, [](const Family& family) { return std::string(family.model_type); });
  const JsonValue* architectures = fields.find("architectures");
  if (architectures == nullptr || architectures->items().empty()) {
    if (by_type != std::end(kFamilies)) return &*by_type;
    fields.fail(unsupported(fields.what() + ": model type '" + name + "' is not one of llama, mistral, qwen2"));
    return nullptr;
  }
  name = architectures->items()[0].text() != nullptr ? *architectures->items()[0].text() : "";
  const auto found =
      std::ranges::find(kFamilies, name, [](const Family& family) { return std::string(family.architecture); });
  if (found != std::end(kFamilies)) {
    // transformers chooses by the type and never looks at the architecture.
    if (!type.empty() && type != found->model_type) {
      fields.fail(unsupported(fields.what() + ": model_type is '" + type + "', but the architecture is '" + name +
                              "', which is of the type '" + found->model_type + "'")
                      .with_hint("correct the one that is wrong"));
    }
    return &*found;
  }
  const auto known = std::ranges::find(kLacks, name, [](const Lack& lack) { return std::string(lack.architecture); });
  std::string missing = known == std::end(kLacks) ? "" : ": Titan's model has no " + std::string(known->what);
  for (const Family& family : kFamilies) {
    const std::string whole = family.architecture;
    if (name == whole.substr(0, whole.find("ForCausalLM")) + "Model")
      missing = ": it has no head; save the model as " + whole;
  }
  fields.fail(
      unsupported(fields.what() + ": architecture '" + name + "' is not supported" + missing)
          .with_hint("supported are LlamaForCausalLM, MistralForCausalLM without sliding window, Qwen2ForCausalLM"));
  return nullptr;
}

// Everything that would make the model another function than ours.
void refuse_lacks(Fields& fields, const Family& family) {
  const std::string activation = fields.text("hidden_act", "silu");
  if (activation != "silu") fields.lack("the activation is '" + activation + "'");
  for (const char* key : {"quantization_config", "quantization"}) {
    const JsonValue* const quantized = fields.find(key);
    const JsonValue* const method = quantized != nullptr ? quantized->find("quant_method") : nullptr;
    if (quantized == nullptr) continue;
    const std::string by = method != nullptr && method->text() != nullptr ? " by " + *method->text() : "";
    fields.fail(unsupported(fields.what() + ": the weights are quantized" + by + " (" + key + ")")
                    .with_hint("take the model that it was made from, or dequantize() it in transformers, then "
                               "save_pretrained(OUT)"));
  }
  if (!family.qkv_bias && fields.flag("attention_bias", false))
    fields.lack("attention_bias puts a bias on the output projection too");
  if (fields.flag("mlp_bias", false)) fields.lack("mlp_bias puts biases on the feed-forward layers");
  if (std::string_view(family.model_type) == "mistral" && !fields.says_null("sliding_window"))
    fields.lack("attention has a sliding window (sliding_window is not null)");
  if (fields.flag("use_sliding_window", false)) fields.lack("attention has a sliding window (use_sliding_window)");
  if (const JsonValue* layers = fields.find("layer_types")) {
    for (const JsonValue& layer : layers->items())
      if (layer.text() == nullptr || *layer.text() != "full_attention")
        return fields.lack("not all layers have full attention (layer_types)");
  }
}

// What one of the objects that describe RoPE says.
struct Rope {
  std::optional<double> theta;
  std::optional<RopeScaling> scaling;
};

std::optional<Rope> read_rope_object(Fields& fields, const char* key) {
  const JsonValue* object = fields.find(key);
  if (object == nullptr) return std::nullopt;
  Rope read;
  if (!object->is_object()) {
    fields.fail(incompatible(fields.what() + ": '" + key + "', the parameters of RoPE, is not an object"));
    return read;
  }
  Fields rope(fields.what() + ": " + key, *object);
  if (rope.find("rope_theta") != nullptr) read.theta = rope.real("rope_theta");
  const std::string old_type = rope.text("type", "default"), type = rope.text("rope_type", old_type);
  if (rope.find("type") != nullptr && type != old_type)
    rope.fail(unsupported(rope.what() + " has the rope_type '" + type + "' and the type '" + old_type +
                          "', and programs differ in which one they take")
                  .with_hint("keep the one that the model was trained with"));
  if (rope.real("partial_rotary_factor", 1.0) != 1.0)
    rope.lack("only a part of each head is rotated (partial_rotary_factor)");
  if (type == "llama3") {
    RopeScaling& scaling = read.scaling.emplace();
    scaling.factor = rope.real("factor");
    scaling.low_freq_factor = rope.real("low_freq_factor");
    scaling.high_freq_factor = rope.real("high_freq_factor");
    scaling.original_max_position_embeddings = rope.whole("original_max_position_embeddings");
  } else if (type != "default") {
    rope.lack("frequencies are scaled as '" + type + "', not as llama3");
  }
  fields.fail(rope.status());
  return read;
}

// transformers 5 has one object with theta, transformers 4 has theta beside `rope_scaling`, which may be null. Where a
// file has both, the two versions read different ones: they must say the same.
void read_rope(Fields& fields, ModelDims& model) {
  const auto ambiguous = [&](const std::string& what) {
    fields.fail(
        unsupported(fields.what() + ": " + what + ", and versions of transformers differ in which one they take")
            .with_hint("keep the one that the model was trained with"));
  };
  const std::optional<Rope> five = read_rope_object(fields, "rope_parameters"),
                            four = read_rope_object(fields, "rope_scaling");
  std::optional<double> theta;
  std::string theta_key;
  const auto take_theta = [&](const std::string& key, std::optional<double> value) {
    if (value && theta && *value != *theta)
      ambiguous(key + " is " + ckpt::toml_float(*value) + ", " + theta_key + " is " + ckpt::toml_float(*theta));
    if (!value || theta) return;
    theta = value;
    theta_key = key;
  };
  if (five) take_theta("rope_parameters.rope_theta", five->theta);
  if (four) take_theta("rope_scaling.rope_theta", four->theta);
  if (fields.find("rope_theta") != nullptr) take_theta("rope_theta", fields.real("rope_theta"));
  model.rope_theta = theta.value_or(10000.0);
  if (five && four && five->scaling != four->scaling)
    ambiguous("rope_parameters and rope_scaling scale frequencies differently");
  model.rope_scaling = five ? five->scaling : four ? four->scaling : std::nullopt;
}

JsonValue rope_object(const ModelDims& model, bool with_theta) {
  JsonValue rope = JsonValue::object();
  if (model.rope_scaling) {
    rope.set("factor", JsonValue::real(model.rope_scaling->factor));
    rope.set("high_freq_factor", JsonValue::real(model.rope_scaling->high_freq_factor));
    rope.set("low_freq_factor", JsonValue::real(model.rope_scaling->low_freq_factor));
    rope.set("original_max_position_embeddings",
             JsonValue::integer(model.rope_scaling->original_max_position_embeddings));
  }
  if (with_theta) rope.set("rope_theta", JsonValue::real(model.rope_theta));
  rope.set("rope_type", JsonValue::string(model.rope_scaling ? "llama3" : "default"));
  return rope;
}

// transformers 5 reads the first, transformers 4 the other two, and each passes over the other's in silence. What is
// there stays as it is.
void add_both_ropes(JsonValue& config, const ModelDims& model) {
  const auto lacks = [&config](const char* key) { return config.find(key) == nullptr; };
  if (lacks("rope_parameters")) config.set("rope_parameters", rope_object(model, true));
  if (lacks("rope_scaling")) config.set("rope_scaling", model.rope_scaling ? rope_object(model, false) : JsonValue());
  if (lacks("rope_theta")) config.set("rope_theta", JsonValue::real(model.rope_theta));
}

constexpr const char* kContext = "max_position_embeddings";

// The context that a configuration allows; 0 where it does not say: models differ in their defaults.
std::uint64_t context_of(const JsonValue& config) {
  const JsonValue* value = config.find(kContext);
  return value == nullptr ? 0 : value->as_u64().value_or(0);
}

// What the vocabulary of `base` means is the same for another model that has it.
void keep_token_facts(JsonValue& config, const JsonValue& base) {
  const JsonValue* vocabulary = base.find("vocab_size");
  if (vocabulary == nullptr || vocabulary->as_u64() != config.find("vocab_size")->as_u64()) return;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (const JsonValue* token = base.find(key)) config.set(key, *token);
  config.set(kContext, JsonValue::integer(std::max(context_of(base), context_of(config))));
}

}  // namespace

bool describes(const JsonValue& base, const ModelDims& model) {
  if (!base.is_object()) return false;
  const Result<ModelDims> described = read_hf_config("config.json", base);
  return described.ok() && *described == model;
}

Result<ModelDims> read_hf_config(const std::string& what, const JsonValue& config) {
  if (!config.is_object()) return incompatible(what + " is not an object");
  Fields fields(what, config);
  const Family* family = find_family(fields);
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
  model.norm_eps = fields.real("rms_norm_eps", 1e-6);
  model.tied = fields.flag("tie_word_embeddings", false);
  model.qkv_bias = family->qkv_bias;
  if (fields.find("head_dim") == nullptr && model.n_heads != 0 && model.dim % model.n_heads != 0)
    fields.fail(incompatible(what + ": hidden_size " + std::to_string(model.dim) +
                             " is not a multiple of num_attention_heads " + std::to_string(model.n_heads)));
  model.head_dim = fields.whole("head_dim", model.n_heads == 0 ? 0 : model.dim / model.n_heads);
  read_rope(fields, model);
  if (!fields.status().ok()) return fields.status();
  if (const Status checked = recipe::check_dims(model); !checked.ok())
    return checked.wrapped(what + " describes a model that Titan cannot have");
  return model;
}

JsonValue write_hf_config(const ModelDims& model, const JsonValue& base, const HfDefaults& defaults) {
  if (describes(base, model)) {
    JsonValue config = base;
    const char* key =
        config.find("dtype") == nullptr && config.find("torch_dtype") != nullptr ? "torch_dtype" : "dtype";
    config.set(key, JsonValue::string(defaults.dtype));
    if (base.find(kContext) != nullptr && context_of(base) < defaults.trained_positions)
      config.set(kContext, JsonValue::integer(defaults.trained_positions));
    add_both_ropes(config, model);
    return config;
  }
  const Family& family = kFamilies[model.qkv_bias ? 2 : 0];
  JsonValue config = JsonValue::object();
  config.set("architectures", JsonValue::list({JsonValue::string(family.architecture)}));
  if (!model.qkv_bias) config.set("attention_bias", JsonValue::boolean(false));
  config.set("attention_dropout", JsonValue::real(0));
  config.set("bos_token_id", JsonValue());  // else transformers assumes Llama's own
  config.set("dtype", JsonValue::string(defaults.dtype));
  config.set("eos_token_id", JsonValue());
  config.set("head_dim", JsonValue::integer(model.head_dim));
  config.set("hidden_act", JsonValue::string("silu"));
  config.set("hidden_size", JsonValue::integer(model.dim));
  config.set("initializer_range", JsonValue::real(0.02));
  config.set("intermediate_size", JsonValue::integer(model.ffn_dim));
  config.set(kContext, JsonValue::integer(defaults.max_positions));
  if (!model.qkv_bias) config.set("mlp_bias", JsonValue::boolean(false));
  config.set("model_type", JsonValue::string(family.model_type));
  config.set("num_attention_heads", JsonValue::integer(model.n_heads));
  config.set("num_hidden_layers", JsonValue::integer(model.n_layers));
  config.set("num_key_value_heads", JsonValue::integer(model.n_kv_heads));
  config.set("rms_norm_eps", JsonValue::real(model.norm_eps));
  add_both_ropes(config, model);
  config.set("tie_word_embeddings", JsonValue::boolean(model.tied));
  config.set("use_cache", JsonValue::boolean(true));
  config.set("vocab_size", JsonValue::integer(model.vocab_size));
  keep_token_facts(config, base);
  return config;
}

}  // namespace titan::convert
