#include "converters/megatron/arguments.h"

#include <algorithm>
#include <cmath>

#include "converters/megatron/argument_rules.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {
namespace {

class Reader {
 public:
  Reader(const TorchFile& file, NodeId state) : file_(file), pickle_(file.pickle()), state_(state) {}

  Result<Arguments> read() {
    TITAN_RETURN_IF_ERROR(check_rules(file_, state_, false));
    Arguments out;
    TITAN_RETURN_IF_ERROR(read_sizes(out.dims));
    TITAN_RETURN_IF_ERROR(read_rope(out));
    // Newer versions of Megatron use norm_epsilon, the name in the model's configuration.
    const char* const eps = find("norm_epsilon") == kNoNode ? "layernorm_epsilon" : "norm_epsilon";
    TITAN_ASSIGN_OR_RETURN(out.dims.norm_eps, real(eps, 1e-5));
    TITAN_ASSIGN_OR_RETURN(const bool untied, flag("untie_embeddings_and_output_weights"));
    out.dims.tied = !untied;
    TITAN_ASSIGN_OR_RETURN(out.dims.qkv_bias, flag("add_qkv_bias"));
    TITAN_ASSIGN_OR_RETURN(out.dims.qk_norm, flag("qk_layernorm"));
    out.texts.context = count("seq_length");
    out.samples = count("consumed_train_samples");
    out.batch = count("global_batch_size");
    if (find("clip_grad") != kNoNode) {
      TITAN_ASSIGN_OR_RETURN(out.clip, real("clip_grad", 0));
    }
    out.data_ranks = std::max<std::uint64_t>(count("data_parallel_size").value_or(1), 1);
    out.why_optimizer = check_optimizer();
    TITAN_RETURN_IF_ERROR(read_schedule(out.scheduler, out.batch.value_or(1)));
    return out;
  }

 private:
  NodeId find(const char* key) const { return attribute(pickle_, state_, key); }
  Status bad(const char* key, const char* expected) const {
    const NodeId node = find(key);
    return ckpt::incompatible(file_.path() + ": the argument " + key + " is " +
                              (node == kNoNode ? "missing" : pickle_.describe(node)) + ", expected " + expected);
  }
  Status lack(const char* key, const std::string& expected) const {
    return ckpt::unsupported(file_.path() + ": the argument " + key + " is " + pickle_.describe(find(key)) +
                             ", expected " + expected + ": such a model is not read from Megatron")
        .with_hint("Megatron Bridge makes a Hugging Face folder of it (AutoBridge.export_ckpt)");
  }

  Status check_optimizer() const {
    TITAN_RETURN_IF_ERROR(check_rules(file_, state_, true));
    const char* const decays = "apply_wd_to_qk_layernorm";
    if (!is_set(pickle_, find(decays)) || !is_set(pickle_, find("qk_layernorm"))) return {};
    return ckpt::unsupported(file_.path() + ": the argument " + decays + " is " + pickle_.describe(find(decays)) +
                             ", expected it unset with qk_layernorm: Titan cannot continue such a run")
        .with_hint(kModelAlone);
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
    if (!value || *value == 0) return bad(key, "a whole number above 0");
    return recipe::to_dimension(*value);
  }
  Result<double> real(const char* key, double otherwise) const {
    const NodeId node = find(key);
    if (node == kNoNode) return otherwise;
    if (pickle_.is(node, NodeKind::kInt)) return static_cast<double>(pickle_.integer(node));
    if (pickle_.is(node, NodeKind::kFloat)) return pickle_.real(node);
    return bad(key, "a number");
  }
  Result<bool> flag(const char* key) const {
    const NodeId node = find(key);
    if (node != kNoNode && !pickle_.is(node, NodeKind::kBool)) return bad(key, "True or False");
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
    TITAN_ASSIGN_OR_RETURN(const bool scaled, flag("use_rope_scaling"));
    TITAN_ASSIGN_OR_RETURN(const double stretched, real("rotary_seq_len_interpolation_factor", 1));
    if (scaled && stretched != 1) return lack("rotary_seq_len_interpolation_factor", "it unset with use_rope_scaling");
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
    return ckpt::incompatible(file.path() + ": args is " + pickle.describe(args) + ", expected an argparse.Namespace");
  return Reader(file, pickle.state(args)).read();
}

}  // namespace titan::convert::megatron
