#pragma once
// What a Llama-style model is: its dimensions, its scaling of RoPE, its parameters. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"
#include "recipe/keys/config.h"

namespace titan::recipe {

using ckpt::Result;
using ckpt::Status;

/// How Llama 3.1 and later stretch RoPE for contexts longer than those of pre-training.
/// \source Hugging Face transformers, modeling_rope_utils.py, _compute_llama3_parameters
struct RopeScaling {
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
  bool operator==(const RopeScaling&) const = default;
};
/// Reads "llama3:8:1:4:8192" (factor, low, high, original length). \error kInvalid, kUnsupported for other kinds.
Result<RopeScaling> parse_rope_scaling(const std::string& text);
/// The reverse, with the shortest numbers: the one text of equal scalings.
std::string rope_scaling_text(const RopeScaling& scaling);

/// Shape of a Llama-style model.
struct ModelDims {
  std::int64_t dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, vocab_size = 0;
  double norm_eps = 1e-5, rope_theta = 500000;
  bool tied = false;
  bool qkv_bias = false;  ///< wq, wk and wv have a bias (Qwen2)
  std::optional<RopeScaling> rope_scaling;
  bool operator==(const ModelDims&) const = default;
};

/// model.rope_scaling of RoPE that is not scaled.
inline constexpr const char* kPlainRope = "none";

/// The model's dimensions: explicit keys, else the flavour's (without one: debugmodel's), else rules (n_kv_heads =
/// n_heads when only that is given, head_dim = dim / n_heads, FFN width by torchtitan's rule). The vocabulary is the
/// flavour's unless it is given: the byte tokenizer's 256 ids fit into each, set model.vocab_size = 256 not to waste
/// rows. A flavour that is given scales RoPE as torchtitan does, unless rope_scaling says otherwise or every dimension
/// is given, too.
/// \error kInvalid: unknown flavour, heads that do not divide, odd head_dim, a rope_scaling that cannot be read.
Result<ModelDims> model_dims(const Config& config);

/// Names and shapes of a model's parameters in model order (torchtitan v0.2.2 names), stages unassigned (0).
std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims);

}  // namespace titan::recipe
