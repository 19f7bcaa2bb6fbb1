#pragma once
// The dimensions of a Llama-style model, and how a configuration determines them. Pure.
#include <cstdint>
#include <optional>
#include <utility>

#include "ckpt/base/result.h"
#include "recipe/model/rope_scaling.h"
#include "recipe/model/sliding_window.h"

namespace titan::recipe {

struct Config;

using ckpt::Result;
using ckpt::Status;

/// The shape and the switches of a Llama-style model.
struct ModelDims {
  std::int64_t dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, vocab_size = 0;
  double norm_eps = 1e-5, rope_theta = 500000;
  bool tied = false;      ///< the output head shares the weights of the embedding
  bool qkv_bias = false;  ///< the projections of queries, keys and values have a bias (Qwen2)
  bool qk_norm = false;   ///< queries and keys get an RMSNorm before RoPE, within each head (Qwen3)
  std::optional<RopeScaling> rope_scaling;
  SlidingWindow window;
  bool whole_qk_norm = false;  ///< with qk_norm: the RMSNorm is over all heads of a token together (OLMo 2)
  /// Each token uses `experts_per_token` of `n_experts` feed-forward networks, each ffn_dim wide (Mixtral).
  bool experts = false;
  std::int64_t n_experts = 0, experts_per_token = 0;
  bool route_norm = false;  ///< the weights of a token's experts are normalised to sum 1
  bool post_norm = false;   ///< norms follow attention and feed-forward instead of preceding them (OLMo 2)
  bool operator==(const ModelDims&) const = default;
};

/// The default of training.router_aux_loss for models with experts: that of transformers' Mixtral and Qwen3-MoE.
inline constexpr double kRouterLoss = 0.001;

/// The dimensions that are sizes, with their configuration keys.
inline constexpr std::pair<const char*, std::int64_t ModelDims::*> kModelSizes[] = {
    {"model.dim", &ModelDims::dim},
    {"model.n_layers", &ModelDims::n_layers},
    {"model.n_heads", &ModelDims::n_heads},
    {"model.n_kv_heads", &ModelDims::n_kv_heads},
    {"model.head_dim", &ModelDims::head_dim},
    {"model.ffn_dim", &ModelDims::ffn_dim},
    {"model.vocab_size", &ModelDims::vocab_size},
};

/// Converts a size from a file to a dimension. A size above the largest int64 becomes that number, which check_dims
/// rejects.
std::int64_t to_dimension(std::uint64_t size);

/// Checks that dimensions from any source make a valid model: none is 0 or absurdly large, head counts divide, head_dim
/// is even, and eps, theta and the scaling of RoPE are valid. The keys of titan-train's configuration have narrower
/// limits (key_table.h). \error kUnsupported
Status check_dims(const ModelDims& dims);

/// The model's dimensions: those that `config` sets, and for the others flavor_dims() of the flavour (debugmodel if
/// none is set) with the `dim` and `n_heads` that are set. So if only n_heads is set, n_kv_heads is the same number.
/// The smallest vocabulary of a flavour has 2,048 ids; for byte models, model.vocab_size = 256 saves the unused rows. A
/// llama3 flavour that is set scales RoPE as in torchtitan, unless rope_scaling or every dimension is set as well.
/// \error kInvalid: unknown flavour, heads that do not divide, odd head_dim, a malformed rope_scaling
Result<ModelDims> model_dims(const Config& config);
/// Writes every dimension into `config`, so that model_dims() returns `dims`.
void set_dims(const ModelDims& dims, Config& config);

}  // namespace titan::recipe
