#pragma once
// Makes the plan of a run, from its configuration and its number of ranks. Pure. libtrain/job/forecast computes memory
// and time.
#include <cstdint>
#include <optional>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/plan/ownership.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {

struct Config;

using ckpt::Result;
using ckpt::Status;

/// Which rank owns which leaves. Each rank gets its share of each exchange part (exchange_parts.h). An embedding is
/// divided separately if it is tied (it has two gradient sums), or if its compute copy is float32 and the others are
/// bfloat16.
ckpt::Ownership owners_of(const RunPlan& plan);

/// The mesh for `world_size` ranks; ignores the model. \error as make_run_plan
Result<ckpt::Mesh> make_run_mesh(const Config& config, std::uint32_t world_size);

/// Makes the plan. The micro-batch size is parallelism.pipeline_parallel_microbatch_size if set, else
/// training.local_batch_size, on every layout. M = global / micro must be an integer and at least DP.
/// `stored_global_batch` replaces global_batch_size = -1 on a resume (0: none stored). `most_layers`: how many layers
/// fit on each pipeline rank; empty: no limit. \error kUnsupported: a value that is not implemented. kInvalid: a value
/// out of range, a world size that does not fit the mesh, M not an integer, M < DP, impossible stages (stage_rules.h),
/// invalid dimensions
Result<RunPlan> make_run_plan(const Config& config, std::uint32_t world_size, std::int64_t stored_global_batch = 0,
                              const std::vector<std::uint32_t>& most_layers = {});

/// A plan for a whole model of these dimensions on one rank, in float32, with `seq_len` tokens at a time.
RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len);

/// Whether the activations of `layer` (an index in the whole model) are recomputed in the backward pass: true for every
/// n-th layer, counted from 1 as in torchtitan.
bool recomputes(const RunPlan& plan, std::int64_t layer);

/// The configuration with open values filled in, so that it reproduces the run: dimensions of the flavour, the global
/// batch, stride, validation.seq_len, seed (if given), threads per rank and GEMM library (if threads > 0). Layout keys
/// and the last step of the LR schedule stay as written.
Config resolved_config(const Config& config, const RunPlan& plan, std::optional<std::uint64_t> seed = {},
                       int threads = 0);

}  // namespace titan::recipe
