#include "converters/megatron/argument_rules.h"

#include <string_view>

#include "ckpt/base/text.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {
namespace {

// The arguments of experts, MLA and yarn matter only if these are used; all three are refused.
constexpr ArgumentRule kRules[] = {
    // The feed-forward.
    {"swiglu", kSet},
    {"openai_gelu", kUnset},
    {"quick_geglu", kUnset},
    {"squared_relu", kUnset},
    {"activation_func_clamp_value", kUnset},
    {"glu_linear_offset", kUnset},
    {"add_bias_linear", kUnset},
    {"num_experts", kUnset},
    {"num_moe_experts", kUnset},
    {"moe_shared_expert_intermediate_size", kUnset},
    // Norms and residual connections.
    {"normalization", "RMSNorm"},
    {"apply_layernorm_1p", kUnset},
    {"layernorm_zero_centered_gamma", kUnset},
    {"apply_residual_connection_post_layernorm", kUnset},
    // Attention.
    {"multi_latent_attention", kUnset},
    {"experimental_attention_variant", kUnset},
    {"linear_attention_freq", kUnset},
    {"attention_output_gate", kUnset},
    {"attention_logit_softcapping", kUnset},
    {"attn_logit_softcapping", kUnset},
    {"qk_l2_norm", kUnset},
    {"softmax_scale", kUnset},
    {"softmax_type", "vanilla"},
    {"window_size", kUnset},
    {"sliding_window", kUnset},
    // Position embeddings.
    {"position_embedding_type", "rope"},
    {"rotary_percent", "1"},
    {"no_rope_freq", kUnset},
    {"mrope_section", kUnset},
    // Embedding, head, and heterogeneous layers.
    {"scale_embedding", kUnset},
    {"scale_embeddings", kUnset},
    {"final_logit_softcapping", kUnset},
    {"use_mup", kUnset},
    {"mtp_num_layers", kUnset},
    {"is_hybrid_model", kUnset},
    {"hybrid_layer_pattern", kUnset},
    {"hybrid_override_pattern", kUnset},
    {"hybrid_attention_ratio", kUnset},
    {"hybrid_mlp_ratio", kUnset},
    {"heterogeneous_block_specs", kUnset},
    {"heterogeneous_layers_config_path", kUnset},
    {"heterogeneous_layers_config_encoded_json", kUnset},
    {"retro_add_retriever", kUnset},
    // Training.
    {"optimizer", "adam", true},
    {"decoupled_weight_decay", kSet, true},
    {"hidden_dropout", kUnset, true},
    {"attention_dropout", kUnset, true},
    {"qk_clip", kUnset, true},
    {"no_weight_decay_cond_type", kUnset, true},
    {"reset_attention_mask", kUnset, true},
    {"reset_position_ids", kUnset, true},
    {"eod_mask_loss", kUnset, true},
    {"sft", kUnset, true},
    {"calculate_per_token_loss", kUnset, true},
    {"fp8", kUnset, true},
    {"fp4", kUnset, true},
};

bool fits(const Pickle& pickle, NodeId node, std::string_view value) {
  if (value == kUnset || value == kSet) return is_set(pickle, node) == (value == kSet);
  if (pickle.is(node, NodeKind::kText)) return pickle.text(node) == value;
  const auto number = ckpt::number_of<double>(value);
  if (pickle.is(node, NodeKind::kInt)) return number == static_cast<double>(pickle.integer(node));
  return pickle.is(node, NodeKind::kFloat) && number == pickle.real(node);
}

std::string text_of_rule(const ArgumentRule& rule) {
  const std::string_view value = rule.value;
  return value == kUnset ? "it unset" : value == kSet ? "it set" : "'" + std::string(value) + "'";
}

}  // namespace

std::span<const ArgumentRule> argument_rules() { return kRules; }

bool is_set(const Pickle& pickle, NodeId node) {
  if (node == kNoNode) return false;
  if (pickle.is(node, NodeKind::kBool)) return pickle.boolean(node);
  if (pickle.is(node, NodeKind::kInt)) return pickle.integer(node) != 0;
  if (pickle.is(node, NodeKind::kFloat)) return pickle.real(node) != 0;
  if (pickle.is(node, NodeKind::kText)) return !pickle.text(node).empty();
  if (pickle.is(node, NodeKind::kList) || pickle.is(node, NodeKind::kTuple)) return pickle.size(node) > 0;
  return true;
}

Status check_rules(const TorchFile& file, NodeId state, bool of_run) {
  const Pickle& pickle = file.pickle();
  for (const ArgumentRule& rule : kRules) {
    const NodeId node = attribute(pickle, state, rule.name);
    if (rule.of_run != of_run || node == kNoNode || fits(pickle, node, rule.value)) continue;
    return ckpt::unsupported(
               file.path() + ": the argument " + rule.name + " is " + pickle.describe(node) + ", expected " +
               text_of_rule(rule) +
               (of_run ? ": Titan cannot continue such a run" : ": such a model is not read from Megatron"))
        .with_hint(of_run ? kModelAlone : "Megatron Bridge makes a Hugging Face folder of it (AutoBridge.export_ckpt)");
  }
  return {};
}

}  // namespace titan::convert::megatron
