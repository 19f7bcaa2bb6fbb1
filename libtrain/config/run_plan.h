#pragma once
// What a configuration means on a given number of ranks: model dimensions, mesh, batches, stages. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/schedule.h"
#include "ckpt/model/tensor_meta.h"
#include "libtrain/config/config.h"

namespace titan::train {

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

/// Micro-batches of a step. Global micro-batch index k of step n covers samples
/// position + [k * micro, (k+1) * micro), whatever the layout.
struct BatchPlan {
  std::int64_t micro = 0;   ///< sequences per micro-batch
  std::int64_t global = 0;  ///< sequences per step
  std::int64_t count = 0;   ///< M = global / micro
  std::int64_t seq_len = 0;
  std::int64_t tokens_per_step() const { return global * seq_len; }
  bool operator==(const BatchPlan&) const = default;
};

struct RunPlan {
  ModelDims dims;
  ckpt::Mesh mesh;
  BatchPlan batch;
  std::string schedule;  ///< "GPipe" or "1F1B"
  bool bf16 = false;     ///< compute dtype bfloat16; parameters, moments, gradient sums stay fp32
  std::vector<ckpt::ParameterMeta> parameters;  ///< model order, stages assigned
  std::vector<std::uint32_t> stage_cuts;  ///< first layer group (0 embedding, 1..L layers, L+1 head) of stages 1..
  std::vector<double> stage_share;        ///< of the cost, per stage
  ckpt::LrSettings lr;
  std::vector<std::string> warnings;  ///< legal, but probably not meant; for rank 0's log
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

/// The mesh that `world_size` ranks make; nothing about the model. \error as make_run_plan
Result<ckpt::Mesh> make_run_mesh(const Config& config, std::uint32_t world_size);

/// Derives the plan. Batches: a micro-batch is parallelism.pipeline_parallel_microbatch_size sequences if given, else
/// training.local_batch_size, on every layout; M = global / micro must be whole and at least DP. `stored_global_batch`
/// replaces global_batch_size = -1 on a resume (0: none stored).
/// \error kUnsupported: a value that is not built yet. kInvalid: a value out of range, world size does not fit the
/// mesh, M not whole, M < DP, more stages than parts, bad dimensions.
Result<RunPlan> make_run_plan(const Config& config, std::uint32_t world_size, std::int64_t stored_global_batch = 0);

/// The configuration with what was left open filled in, so that it reproduces the run: dimensions of the flavour, the
/// global batch, stride, seed (when given) and threads per rank (when > 0). Layout keys and the end of the LR curve
/// stay as written.
Config resolved_config(const Config& config, const RunPlan& plan, std::optional<std::uint64_t> seed = {},
                       int threads = 0);

}  // namespace titan::train
