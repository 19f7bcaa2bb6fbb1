#include "converters/gguf/gguf_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace titan::convert {

using ckpt::incompatible;
using ckpt::Result;
using ckpt::Status;
using recipe::ModelDims;
using recipe::RopeScaling;
using Kind = GgufValue::Kind;

namespace {

constexpr const char *kLlama = "llama", *kQwen2 = "qwen2", *kQwen3 = "qwen3";

/// llama.cpp's name of a part of the first layer.
std::string first_layers(recipe::Part part) { return recipe::filled_pattern(recipe::kind_of(part).gguf, {"0", "0"}); }

constexpr double kTheta = 10000;  // llama.cpp's default if the file has no value

// Key names after the architecture: those that are read, and those without effect on results.
constexpr std::string_view kKnown[] = {
    "block_count",
    "embedding_length",
    "feed_forward_length",
    "context_length",
    "vocab_size",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
    "rope.dimension_count",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.finetuned",
    "rope.scaling.attn_factor",
    "rope.scale_linear",
    "expert_count",
    "expert_used_count",
    "attention.sliding_window",
    "attention.causal",
    "tensor_data_layout",
};

bool close(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr float kWithin = 1e-5f;  // relative tolerance: programs that write the table round differently
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::fabs(x - y) <= kWithin * std::fabs(y); });
}

class Metadata {
 public:
  Metadata(const std::string& what, const GgufHeader& header, const std::vector<float>& rope)
      : what_(what), header_(header), rope_(rope) {}

  Result<GgufModel> read() {
    const std::optional<std::string> architecture = header_.text("general.architecture");
    if (!architecture) return incompatible(what_ + " does not say its architecture (general.architecture)");
    if (*architecture != kLlama && *architecture != kQwen2 && *architecture != kQwen3)
      return ckpt::unsupported(what_ + " is a model of the architecture '" + architecture->substr(0, 40) +
                               "', expected llama, qwen2 or qwen3");
    prefix_ = *architecture + ".";
    GgufModel model;
    model.interleaved_rows = *architecture == kLlama;
    TITAN_RETURN_IF_ERROR(sizes(model.dims));
    TITAN_RETURN_IF_ERROR(numbers(model.dims));
    TITAN_RETURN_IF_ERROR(refuse_others());
    TITAN_RETURN_IF_ERROR(scaling(model.dims));
    const Status sound = recipe::check_dims(model.dims);
    return sound.ok() ? Result<GgufModel>(model) : sound.wrapped(what_ + " describes a model that Titan cannot have");
  }

 private:
  const GgufTensor* tensor(std::string_view name) const {
    const auto at = std::ranges::find(header_.tensors, name, &GgufTensor::name);
    return at == header_.tensors.end() ? nullptr : &*at;
  }
  const GgufValue* any(const std::string& key) const {
    const auto at = header_.values.find(prefix_ + key);
    return at == header_.values.end() ? nullptr : &at->second;
  }
  Status wrong(const std::string& key, const char* expected) const {
    return incompatible(what_ + ": '" + prefix_ + key + "' is missing or not " + expected)
        .with_hint("make the file again from the model that it came from");
  }
  Result<std::int64_t> whole(const std::string& key, std::optional<std::int64_t> otherwise = {}) const {
    const GgufValue* value = any(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value != nullptr && value->kind == Kind::kList)
      return ckpt::unsupported(what_ + ": '" + prefix_ + key +
                               "' is a list: layers of several sizes are not supported");
    if (value == nullptr || value->kind != Kind::kWhole || value->whole < 0) return wrong(key, "a whole number");
    return value->whole;
  }
  Result<double> real(const std::string& key, std::optional<double> otherwise) const {
    const GgufValue* value = any(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || value->kind != Kind::kReal) return wrong(key, "a number");
    return value->real;
  }

  Status sizes(ModelDims& dims) const {
    TITAN_ASSIGN_OR_RETURN(dims.dim, whole("embedding_length"));
    TITAN_ASSIGN_OR_RETURN(dims.n_layers, whole("block_count"));
    TITAN_ASSIGN_OR_RETURN(dims.ffn_dim, whole("feed_forward_length"));
    TITAN_ASSIGN_OR_RETURN(dims.n_heads, whole("attention.head_count"));
    TITAN_ASSIGN_OR_RETURN(dims.n_kv_heads, whole("attention.head_count_kv", dims.n_heads));
    if (dims.n_heads == 0) return wrong("attention.head_count", "at least 1");
    TITAN_ASSIGN_OR_RETURN(dims.head_dim, whole("attention.key_length", dims.dim / dims.n_heads));
    // The weights decide the size of the vocabulary; llama.cpp ignores the key for them, too.
    const GgufTensor* embedding = tensor(kGgufEmbedding);
    const bool rows = embedding != nullptr && embedding->shape.size() == 2;
    TITAN_ASSIGN_OR_RETURN(dims.vocab_size, whole("vocab_size", rows ? recipe::to_dimension(embedding->shape[0]) : 0));
    if (rows) dims.vocab_size = recipe::to_dimension(embedding->shape[0]);
    dims.tied = tensor(kGgufHead) == nullptr;
    dims.qkv_bias = tensor(first_layers(recipe::Part::kQueryBias)) != nullptr;
    dims.qk_norm = prefix_ == std::string(kQwen3) + ".";
    return {};
  }

  Status numbers(ModelDims& dims) const {
    TITAN_ASSIGN_OR_RETURN(dims.norm_eps, real("attention.layer_norm_rms_epsilon", std::nullopt));
    TITAN_ASSIGN_OR_RETURN(dims.rope_theta, real("rope.freq_base", kTheta));
    return {};
  }

  // An unknown key may change the model.
  Status refuse_others() const {
    for (const auto& [key, value] : header_.values)
      if (key.starts_with(prefix_) &&
          std::find(std::begin(kKnown), std::end(kKnown), key.substr(prefix_.size())) == std::end(kKnown))
        return lacks(key);
    for (const char* key : {"expert_count", "attention.sliding_window"}) {
      TITAN_ASSIGN_OR_RETURN(const std::int64_t value, whole(key, 0));
      if (value != 0) return lacks(prefix_ + key);
    }
    const GgufValue* causal = any("attention.causal");
    if (causal != nullptr && causal->whole == 0) return lacks(prefix_ + "attention.causal");
    return {};
  }
  Status lacks(const std::string& key) const {
    return ckpt::unsupported(what_ + ": '" + key + "': Titan's model has nothing of the kind, or does not know it");
  }

  Status scaling(ModelDims& dims) const {
    TITAN_ASSIGN_OR_RETURN(const std::int64_t value_length, whole("attention.value_length", dims.head_dim));
    TITAN_ASSIGN_OR_RETURN(const std::int64_t turned, whole("rope.dimension_count", dims.head_dim));
    if (value_length != dims.head_dim) return lacks(prefix_ + "attention.value_length");
    if (turned != dims.head_dim) return lacks(prefix_ + "rope.dimension_count");
    const std::string kind = header_.text(prefix_ + "rope.scaling.type").value_or("none");
    TITAN_ASSIGN_OR_RETURN(const double older, real("rope.scale_linear", 1.0));
    if (kind != "none" || older != 1)
      return ckpt::unsupported(what_ + ": RoPE is scaled in the way '" +
                               (kind == "none" ? "linear" : kind.substr(0, 40)) + "', expected none or Llama 3.1's");
    return rope_.empty() ? Status{} : llama3(dims);
  }

  // Finds the scaling parameters of a table of factors, which does not record them: tries the common ones.
  Status llama3(ModelDims& dims) const {
    std::vector<RopeScaling> candidates{{8, 1, 4, 8192}, {32, 1, 4, 8192}};
    if (const auto own = header_.text(kGgufTitanRope))
      if (const auto parsed = recipe::read_rope_scaling(*own);
          parsed && parsed->kind == RopeScaling::Kind::kLlama3 && recipe::is_sound(*parsed))
        candidates.insert(candidates.begin(), *parsed);
    if (dims.head_dim / 2 == static_cast<std::int64_t>(rope_.size()))
      for (const RopeScaling& candidate : candidates) {
        if (!close(rope_, rope_factors(dims, candidate))) continue;
        dims.rope_scaling = candidate;
        return {};
      }
    return ckpt::unsupported(what_ + ": the table " + kGgufRope +
                             " is none that is known: expected that of Llama 3.1 or "
                             "3.2, with a head_dim of " +
                             std::to_string(dims.head_dim));
  }

  const std::string& what_;
  const GgufHeader& header_;
  const std::vector<float>& rope_;
  std::string prefix_;
};

}  // namespace

std::optional<std::string> gguf_architecture(const ModelDims& model) {
  if (model.qk_norm) return model.qkv_bias ? std::nullopt : std::optional<std::string>(kQwen3);
  return model.qkv_bias ? kQwen2 : kLlama;
}

Result<GgufModel> read_gguf_model(const std::string& what, const GgufHeader& header, const std::vector<float>& rope) {
  return Metadata(what, header, rope).read();
}

std::vector<float> rope_factors(const ModelDims& model, const RopeScaling& scaling) {
  std::vector<float> factors;
  const auto old = static_cast<double>(scaling.original_max_position_embeddings);
  for (std::int64_t i = 0; i < model.head_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(model.head_dim);
    const float frequency = 1.0f / std::pow(static_cast<float>(model.rope_theta), exponent);
    const double wavelength = 2 * std::numbers::pi / static_cast<double>(frequency);
    const double smooth =
        (old / wavelength - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    const double factor = wavelength < old / scaling.high_freq_factor  ? 1
                          : wavelength > old / scaling.low_freq_factor ? scaling.factor
                                                                       : 1 / ((1 - smooth) / scaling.factor + smooth);
    factors.push_back(static_cast<float>(factor));
  }
  return factors;
}

}  // namespace titan::convert
