#include "converters/megatron/arguments.h"

#include <algorithm>

#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {
namespace {

using dcp::kNoNode;
using dcp::NodeId;
using dcp::NodeKind;
using dcp::Pickle;

// What makes another model than ours where it is set: not False, None, 0 or empty.
constexpr const char* kUnset[] = {"activation_func_clamp_value",
                                  "add_bias_linear",
                                  "apply_layernorm_1p",
                                  "apply_residual_connection_post_layernorm",
                                  "attention_output_gate",
                                  "experimental_attention_variant",
                                  "glu_linear_offset",
                                  "heterogeneous_layers_config_encoded_json",
                                  "heterogeneous_layers_config_path",
                                  "hybrid_layer_pattern",
                                  "hybrid_override_pattern",
                                  "moe_shared_expert_intermediate_size",
                                  "mtp_num_layers",
                                  "multi_latent_attention",
                                  "no_rope_freq",
                                  "num_experts",
                                  "openai_gelu",
                                  "qk_l2_norm",
                                  "quick_geglu",
                                  "softmax_scale",
                                  "squared_relu",
                                  "window_size"};
// What must be so where it is said.
struct Needed {
  const char *key, *value;
};
constexpr Needed kNeeded[] = {
    {"normalization", "RMSNorm"}, {"position_embedding_type", "rope"}, {"softmax_type", "vanilla"}};

class Reader {
 public:
  Reader(const TorchFile& file, NodeId state) : file_(file), pickle_(file.pickle()), state_(state) {}

  Result<Arguments> read() {
    TITAN_RETURN_IF_ERROR(check_model());
    Arguments out;
    TITAN_RETURN_IF_ERROR(read_sizes(out.dims));
    TITAN_RETURN_IF_ERROR(read_rope(out));
    TITAN_ASSIGN_OR_RETURN(out.dims.norm_eps, real("norm_epsilon", 1e-5));
    TITAN_ASSIGN_OR_RETURN(const bool untied, flag("untie_embeddings_and_output_weights"));
    out.dims.tied = !untied;
    TITAN_ASSIGN_OR_RETURN(out.dims.qkv_bias, flag("add_qkv_bias"));
    TITAN_ASSIGN_OR_RETURN(out.dims.qk_norm, flag("qk_layernorm"));
    out.texts.context = count("seq_length");
    out.samples = count("consumed_train_samples");
    out.batch = count("global_batch_size");
    out.data_ranks = std::max<std::uint64_t>(count("data_parallel_size").value_or(1), 1);
    out.why_optimizer = check_optimizer();
    TITAN_RETURN_IF_ERROR(read_schedule(out.scheduler, out.batch.value_or(1)));
    return out;
  }

 private:
  NodeId find(const char* key) const { return attribute(pickle_, state_, key); }
  Status bad(const char* key) const {
    return ckpt::corrupt(file_.path() + ": the argument " + key + " is " + pickle_.describe(find(key)));
  }
  Status lack(const char* key, const std::string& expected) const {
    return ckpt::unsupported(file_.path() + ": the argument " + key + " is " + pickle_.describe(find(key)) +
                             ", expected " + expected + ": such a model is not read from Megatron")
        .with_hint("Megatron Bridge makes a Hugging Face folder of it (AutoBridge.export_ckpt)");
  }

  bool is_set(NodeId node) const {
    if (node == kNoNode) return false;
    if (pickle_.is(node, NodeKind::kBool)) return pickle_.boolean(node);
    if (pickle_.is(node, NodeKind::kInt)) return pickle_.integer(node) != 0;
    if (pickle_.is(node, NodeKind::kFloat)) return pickle_.real(node) != 0;
    if (pickle_.is(node, NodeKind::kText)) return !pickle_.text(node).empty();
    if (pickle_.is(node, NodeKind::kList) || pickle_.is(node, NodeKind::kTuple)) return pickle_.size(node) > 0;
    return true;
  }

  Status check_model() const {
    for (const char* key : kUnset)
      if (is_set(find(key))) return lack(key, "it unset");
    for (const auto& [key, value] : kNeeded)
      if (const NodeId node = find(key);
          node != kNoNode && (!pickle_.is(node, NodeKind::kText) || pickle_.text(node) != value))
        return lack(key, std::string("'") + value + "'");
    if (const NodeId node = find("swiglu"); node != kNoNode && !is_set(node)) return lack("swiglu", "it set");
    return {};
  }

  Status check_optimizer() const {
    const auto other = [&](const char* key, const char* expected) {
      return ckpt::unsupported(file_.path() + ": the argument " + key + " is " + pickle_.describe(find(key)) +
                               ", expected " + expected + ": such an optimizer is not taken from Megatron")
          .with_hint(kModelAlone);
    };
    const NodeId optimizer = find("optimizer"), decoupled = find("decoupled_weight_decay");
    if (optimizer != kNoNode && (!pickle_.is(optimizer, NodeKind::kText) || pickle_.text(optimizer) != "adam"))
      return other("optimizer", "'adam'");
    if (decoupled != kNoNode && !is_set(decoupled)) return other("decoupled_weight_decay", "it set (AdamW)");
    if (is_set(find("apply_wd_to_qk_layernorm")) && is_set(find("qk_layernorm")))
      return other("apply_wd_to_qk_layernorm", "it unset beside qk_layernorm");
    return {};
  }

  std::optional<std::uint64_t> count(const char* key) const {
    const NodeId node = find(key);
    return pickle_.is(node, NodeKind::kInt) && pickle_.integer(node) >= 0
               ? std::optional(static_cast<std::uint64_t>(pickle_.integer(node)))
               : std::nullopt;
  }
  Result<std::int64_t> size(const char* key, std::int64_t otherwise = 0) const {
    if (find(key) == kNoNode && otherwise > 0) return otherwise;
    const auto value = count(key);
    if (!value || *value == 0) return bad(key);
    return recipe::to_dimension(*value);
  }
  Result<double> real(const char* key, double otherwise) const {
    const NodeId node = find(key);
    if (node == kNoNode) return otherwise;
    return file_.number(node);
  }
  Result<bool> flag(const char* key) const {
    const NodeId node = find(key);
    if (node != kNoNode && !pickle_.is(node, NodeKind::kBool)) return bad(key);
    return node != kNoNode && pickle_.boolean(node);
  }

  Status read_sizes(recipe::ModelDims& dims) const {
    TITAN_ASSIGN_OR_RETURN(dims.n_layers, size("num_layers"));
    TITAN_ASSIGN_OR_RETURN(dims.dim, size("hidden_size"));
    TITAN_ASSIGN_OR_RETURN(dims.n_heads, size("num_attention_heads"));
    TITAN_ASSIGN_OR_RETURN(const bool grouped, flag("group_query_attention"));
    dims.n_kv_heads = dims.n_heads;
    if (grouped) {
      TITAN_ASSIGN_OR_RETURN(dims.n_kv_heads, size("num_query_groups"));
    }
    TITAN_ASSIGN_OR_RETURN(dims.head_dim, size("kv_channels", std::max<std::int64_t>(dims.dim / dims.n_heads, 1)));
    TITAN_ASSIGN_OR_RETURN(dims.ffn_dim, size("ffn_hidden_size"));
    dims.vocab_size = recipe::to_dimension(count("padded_vocab_size").value_or(0));
    return {};
  }

  Status read_rope(Arguments& out) const {
    TITAN_ASSIGN_OR_RETURN(out.dims.rope_theta, real("rotary_base", 10000));
    TITAN_ASSIGN_OR_RETURN(out.interleaved, flag("rotary_interleaved"));
    TITAN_ASSIGN_OR_RETURN(const double share, real("rotary_percent", 1));
    if (share != 1) return lack("rotary_percent", "1.0");
    TITAN_ASSIGN_OR_RETURN(const bool scaled, flag("use_rope_scaling"));
    TITAN_ASSIGN_OR_RETURN(const double stretched, real("rotary_seq_len_interpolation_factor", 1));
    if (scaled && stretched != 1)
      return lack("rotary_seq_len_interpolation_factor", "it unset beside use_rope_scaling");
    if (stretched != 1) {
      out.dims.rope_scaling.emplace();
      out.dims.rope_scaling->kind = recipe::RopeScaling::Kind::kLinear;
      out.dims.rope_scaling->factor = stretched;
    }
    if (scaled) {
      TITAN_ASSIGN_OR_RETURN(out.dims.rope_scaling.emplace().factor, real("rope_scaling_factor", 8));
    }
    return {};
  }

  Status read_schedule(Scheduler& out, std::uint64_t batch) const {
    TITAN_ASSIGN_OR_RETURN(out.init_lr, real("lr_warmup_init", 0));
    TITAN_ASSIGN_OR_RETURN(const double samples, real("lr_wsd_decay_samples", 0));
    TITAN_ASSIGN_OR_RETURN(const double steps, real("lr_wsd_decay_iters", 0));
    out.wsd_decay = samples > 0 ? samples : steps * static_cast<double>(batch);
    if (const NodeId node = find("lr_wsd_decay_style"); pickle_.is(node, NodeKind::kText))
      out.wsd_style = pickle_.text(node);
    return {};
  }

  const TorchFile& file_;
  const Pickle& pickle_;
  const NodeId state_;
};

}  // namespace

NodeId attribute(const Pickle& pickle, NodeId dict, const char* key) {
  if (!pickle.is(dict, NodeKind::kDict)) return kNoNode;
  const NodeId node = pickle.find(dict, key);
  return node == kNoNode || pickle.is(node, NodeKind::kNone) ? kNoNode : node;
}

Result<Arguments> read_arguments(const TorchFile& file, NodeId args) {
  const Pickle& pickle = file.pickle();
  if (!pickle.is(args, NodeKind::kInstance) || !pickle.is(pickle.state(args), NodeKind::kDict))
    return ckpt::corrupt(file.path() + ": args is " + pickle.describe(args) + ", expected an argparse.Namespace");
  return Reader(file, pickle.state(args)).read();
}

}  // namespace titan::convert::megatron
