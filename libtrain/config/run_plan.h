#pragma once
// What a configuration means on a given number of ranks: model dimensions, mesh, batches, stages. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/schedule.h"
#include "ckpt/model/tensor_meta.h"
#include "libtrain/config/config.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

/// Shape of a Llama-style model.
struct ModelDims {
  std::int64_t dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, vocab_size = 0;
  double norm_eps = 1e-5, rope_theta = 500000;
  bool tied = false;
  bool operator==(const ModelDims&) const = default;
};

/// Micro-batches of a step. Global micro-batch index k of step n covers samples
/// position + [k * micro, (k+1) * micro), whatever the layout.
struct BatchPlan {
  std::int64_t micro = 0;         ///< sequences per micro-batch
  std::int64_t global = 0;        ///< sequences per step
  std::int64_t count = 0;         ///< M = global / micro
  std::int64_t seq_len = 0;
  std::int64_t tokens_per_step() const { return global * seq_len; }
  bool operator==(const BatchPlan&) const = default;
};

struct RunPlan {
  ModelDims dims;
  ckpt::Mesh mesh;
  BatchPlan batch;
  std::string schedule;                           ///< "GPipe" or "1F1B"
  bool bf16 = false;                              ///< compute dtype bfloat16; parameters, moments, gradient sums stay fp32
  std::vector<ckpt::ParameterMeta> parameters;    ///< model order, stages assigned
  std::vector<std::uint32_t> stage_cuts;          ///< first layer group (0 embedding, 1..L layers, L+1 head) of stages 1..
  std::vector<double> stage_share;                ///< of the cost, per stage
  ckpt::LrSettings lr;
};

/// Names and shapes of a model's parameters in model order (torchtitan v0.2.2 names), stages unassigned (0).
std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims);

/// Derives the plan. `stored_global_batch` replaces global_batch_size = -1 on a resume (0: none stored).
/// \error kInvalid: world size does not fit the mesh, M not whole, M < DP, more stages than parts, bad dimensions.
Result<RunPlan> make_run_plan(const Config& config, std::uint32_t world_size, std::int64_t stored_global_batch = 0);

}  // namespace titan::train
