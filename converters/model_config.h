#pragma once
// The dimensions of a Llama-shaped model, as foreign configurations give them and as our manifests store them: rows
// "model.*" of Manifest::config. libtrain reads the same rows.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::convert {

/// Scaling of RoPE frequencies as Llama 3.1 has it.
struct RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  std::uint64_t original_max_position_embeddings = 8192;
  bool operator==(const RopeScaling&) const = default;
};

struct ModelConfig {
  std::uint64_t dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, vocab_size = 0;
  double norm_eps = 1e-5, rope_theta = 500000;
  std::optional<RopeScaling> rope_scaling;
  bool tied = false;      ///< the head is the embedding
  bool qkv_bias = false;  ///< wq, wk, wv have a bias
  bool operator==(const ModelConfig&) const = default;
};

/// Checks that the dimensions make a model (none is 0 or absurd, heads divide, head_dim is even). \error kUnsupported
ckpt::Status check_model(const ModelConfig& model);

/// Rows "model.*", ascending by key, as TOML text: dim, head_dim, n_heads, ..., and only when there: model.qkv_bias and
/// model.rope_scaling = "llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS".
ckpt::Settings model_settings(const ModelConfig& model);
/// Keys of all rows that say what a model is, ascending.
std::vector<std::string> model_keys();
/// Reads the rows back; others are ignored, and those that are "not set". Scaling may be "none". `what` names their
/// holder in messages. \error kIncompatible naming the rows that are missing or have another type
ckpt::Result<ModelConfig> model_from_settings(const std::string& what, const ckpt::Settings& settings);

/// How a configuration is compared with a model that says what it is.
struct Comparison {
  /// the configuration is for torchtitan, whose flavours scale RoPE and leave dimensions to the tensors
  bool torchtitan = false;
  bool untie = false;  ///< the model is written untied: model.tied_embeddings may differ
};

/// The rows of `own` with what it leaves open of its model filled from `given`. Values are compared, not their
/// spelling, also those of `given`'s flavour. `what` names the holder of `own`. \error kIncompatible: `own` says what
/// its model is, and `given` says something else
ckpt::Result<ckpt::Settings> agreed_rows(const std::string& what, const ckpt::Settings& own,
                                         const ckpt::Settings& given, const Comparison& how = {});

/// Every parameter with its shape, in model order, on stage 0.
std::vector<ckpt::ParameterMeta> model_parameters(const ModelConfig& model);

}  // namespace titan::convert
