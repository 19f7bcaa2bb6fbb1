#include "converters/nanotron/model_config.h"

#include <string_view>

#include "ckpt/base/text.h"
#include "converters/known_members.h"

namespace titan::convert::nanotron {

using ckpt::Result;
using ckpt::Status;
using recipe::ModelDims;

namespace {

constexpr std::uint64_t kOldest = 2, kNewest = 5;  // x of the versions 1.x that are read
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 53;

// Keys without effect on the forward pass.
constexpr std::string_view kHarmless[] = {"bos_token_id",
                                          "eos_token_id",
                                          "pad_token_id",
                                          "initializer_range",
                                          "max_position_embeddings",
                                          "pretraining_tp",
                                          "use_cache",
                                          "_attn_implementation",
                                          "flex_attention_mask",
                                          "z_loss_enabled",
                                          "z_loss_coefficient",
                                          "_fused_rotary_emb",
                                          "_fused_rms_norm",
                                          "_use_qkv_packed",
                                          "_use_doc_masking",
                                          "log_attn_probs",
                                          "ring_attn_heads_k_stride",
                                          "num_experts_per_token",
                                          "cp"};

class Config : KnownMembers {
 public:
  Config(const std::string& what, const JsonValue& json) : KnownMembers(what, json) {}

  Result<Model> read() {
    if (!json_.is_object()) return ckpt::incompatible(what_ + " is no JSON object");
    TITAN_ASSIGN_OR_RETURN(const bool llama, flag("is_llama_config", false));
    TITAN_ASSIGN_OR_RETURN(const bool qwen, flag("is_qwen2_config", false));
    if (!llama && !qwen)
      return ckpt::unsupported(what_ + " is of no model that is known: expected is_llama_config or is_qwen2_config");
    Model model;
    ModelDims& dims = model.dims;
    TITAN_ASSIGN_OR_RETURN(dims.dim, size("hidden_size"));
    TITAN_ASSIGN_OR_RETURN(dims.n_layers, size("num_hidden_layers"));
    TITAN_ASSIGN_OR_RETURN(dims.n_heads, size("num_attention_heads"));
    TITAN_ASSIGN_OR_RETURN(dims.n_kv_heads, size("num_key_value_heads", dims.n_heads));
    TITAN_ASSIGN_OR_RETURN(dims.ffn_dim, size("intermediate_size"));
    TITAN_ASSIGN_OR_RETURN(dims.vocab_size, size("vocab_size"));
    TITAN_ASSIGN_OR_RETURN(dims.norm_eps, real("rms_norm_eps", 1e-6));
    TITAN_ASSIGN_OR_RETURN(dims.rope_theta, real("rope_theta", 10000));
    TITAN_ASSIGN_OR_RETURN(dims.tied, flag("tie_word_embeddings", false));
    TITAN_ASSIGN_OR_RETURN(dims.qkv_bias, flag("attention_bias", qwen));
    if (dims.n_heads == 0) return ckpt::incompatible(what_ + ": num_attention_heads is 0");
    dims.head_dim = dims.dim / dims.n_heads;
    if (find("rope_interleaved") != nullptr) {
      TITAN_ASSIGN_OR_RETURN(model.interleaved, flag("rope_interleaved", false));
    }
    const JsonValue* act = find("hidden_act");
    if (act != nullptr && (act->text() == nullptr || *act->text() != "silu")) return lack("hidden_act");
    TITAN_RETURN_IF_ERROR(check_rest(kHarmless));
    const auto number = [&](const char* key) {
      const JsonValue* value = json_.find(key);
      return value == nullptr ? std::nullopt : value->as_u64();
    };
    model.texts = {number("max_position_embeddings"), number("bos_token_id"), number("eos_token_id")};
    const Status sound = recipe::check_dims(dims);
    return sound.ok() ? Result<Model>(model) : sound.wrapped(what_);
  }
};

}  // namespace

Result<Model> read_model_config(const std::string& what, const JsonValue& config) {
  return Config(what, config).read();
}

Result<Position> read_metadata(const std::string& what, const JsonValue& metadata) {
  Position out;
  const JsonValue* version = metadata.is_object() ? metadata.find("version") : nullptr;
  if (version == nullptr || version->text() == nullptr) return ckpt::incompatible(what + " has no version");
  const std::vector<std::string> parts = ckpt::split(*version->text(), '.');
  const auto minor = parts.size() == 2 && parts[0] == "1" ? ckpt::number_of<std::uint64_t>(parts[1]) : std::nullopt;
  if (!minor || *minor < kOldest || *minor > kNewest)
    return ckpt::unsupported(what + " is of version " + version->text()->substr(0, 20) + ", expected 1.2 to 1.5");
  Status status;
  const auto count = [&](const JsonValue& object, const char* key) -> std::optional<std::uint64_t> {
    const JsonValue* value = object.find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->as_u64();
    if (!number || *number > kMostCounted)
      status = ckpt::incompatible(what + ": '" + key + "' is not a whole number up to 2^53");
    return number;
  };
  out.tp = count(metadata, "tp").value_or(1);
  out.dp = count(metadata, "dp").value_or(1);
  if (const JsonValue* metas = metadata.find("metas"); metas != nullptr && metas->is_object()) {
    out.step = count(*metas, "last_train_step");
    out.samples = count(*metas, "consumed_train_samples");
  }
  TITAN_RETURN_IF_ERROR(status);
  return out;
}

}  // namespace titan::convert::nanotron
