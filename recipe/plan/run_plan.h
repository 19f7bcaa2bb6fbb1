#pragma once
// What a configuration means on a given number of ranks: mesh, batches, stages. Pure. What it costs in memory and time
// is libtrain/job/forecast.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/codec.h"
#include "ckpt/model/leaf.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/plan/ownership.h"
#include "recipe/model/dims.h"
#include "recipe/plan/cpu_gemm.h"
#include "recipe/plan/parameter_rules.h"
#include "recipe/plan/schedule_kind.h"

namespace titan::recipe {

struct Config;

using ckpt::Result;
using ckpt::Status;

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

/// When data-parallel ranks exchange the gradients of a step: after the last micro-batch, or after each, within a node
/// or among all.
enum class ExchangeDomain { kLate, kNode, kAlways };

/// A schedule's table in torchtitan's format, as a file has it. Without a path there is none.
struct ScheduleFile {
  std::string path, text;
};

/// A value: all that follows from configuration and number of ranks, decided once; readers pick what they need.
struct RunPlan {
  ModelDims dims;
  ckpt::Mesh mesh;
  BatchPlan batch;
  ScheduleKind schedule = ScheduleKind::k1F1B;
  /// The order of work where a file says it; `schedule` then says where stages lie. A start reads it; make_run_plan
  /// does not.
  ScheduleFile schedule_file;
  std::uint32_t chunks = 1;         ///< stages on each rank of the pipeline
  bool bf16 = false;                ///< compute dtype bfloat16; parameters, moments, gradient sums stay fp32
  double router_aux_loss = 0;       ///< weight of the loss that balances experts; 0: it has no gradient
  bool ema = false;                 ///< an average of the parameters is kept beside them
  CpuGemm gemm = CpuGemm::kMkl;     ///< what a start has settled; make_run_plan leaves it
  std::int64_t loss_chunk = 0;      ///< tokens whose logits exist at once; 0: those of the micro-batch
  std::int64_t recompute_each = 0;  ///< every so many layers are computed again in the backward pass; 0: none
  ExchangeDomain exchange = ExchangeDomain::kLate;
  std::uint64_t exchange_bytes = 256 << 20;     ///< most bytes in the buffers of the exchange, per rank
  std::uint32_t exchange_parts = 1;             ///< in which it goes on beside the computing; 1: it does not
  bool shard_gradients = false;                 ///< "zero2": kLate is then as kAlways
  bool keeps_scores = false;                    ///< attention is no fused kernel: training.attention = "math" on a GPU
  std::uint32_t node_ranks = 0;                 ///< neighbouring ranks on one node, which a start settles; 0: all
  std::vector<ckpt::ParameterMeta> parameters;  ///< model order; `stage` is the rank of the pipeline that holds it
  std::vector<std::uint32_t> stages;            ///< of each parameter, in model order; empty: a rank has one, its own
  std::vector<UpdateSettings> updates;          ///< of each parameter; empty: as the optimizer says
  std::vector<std::uint32_t> stage_cuts;  ///< first layer group (0 embedding, 1..L layers, L+1 head) of stages 1..
  std::vector<double> stage_share;        ///< of the cost, per stage of the model
  std::string stages_from;                ///< the key that says the stages; empty: the best by cost
  ckpt::LrSettings lr;
  ckpt::Codec codec = ckpt::Codec::kRaw;                     ///< of checkpoints
  std::uint64_t leaf_elements = ckpt::kDefaultLeafElements;  ///< in which tensors are cut, owned and saved
  std::vector<std::string> warnings;                         ///< legal, but probably not meant; for rank 0's log

  /// As pages and logs name it.
  std::string schedule_name() const { return has_schedule_file() ? schedule_file.path : facts_of(schedule).name; }
  bool has_schedule_file() const { return !schedule_file.path.empty(); }
  std::uint32_t stage_count() const { return mesh.pp * chunks; }
  std::uint32_t stage_of(std::size_t parameter) const {
    return stages.empty() ? parameters[parameter].stage : stages[parameter];
  }
  /// The rank of the pipeline that has a stage.
  std::uint32_t rank_of(std::uint32_t stage) const {
    return rank_of_stage(facts_of(schedule).placement, mesh.pp, stage);
  }
  std::uint32_t stage_of_chunk(std::uint32_t rank, std::uint32_t chunk) const {
    return recipe::stage_of_chunk(facts_of(schedule).placement, mesh.pp, rank, chunk);
  }
  /// Of a data-parallel rank that has `micro_batches` in each step.
  PipelineShape pipeline(std::uint32_t micro_batches) const { return {mesh.pp, chunks, micro_batches}; }
};

/// Who owns which leaves. Each rank gets its share of each part that travels by itself (exchange_parts.h), and of an
/// embedding that is tied, which has two sums of gradients, or wider than the other compute copies.
ckpt::Ownership owners_of(const RunPlan& plan);

/// The mesh that `world_size` ranks make; nothing about the model. \error as make_run_plan
Result<ckpt::Mesh> make_run_mesh(const Config& config, std::uint32_t world_size);

/// Derives the plan. Batches: a micro-batch is parallelism.pipeline_parallel_microbatch_size sequences if given, else
/// training.local_batch_size, on every layout; M = global / micro must be whole and at least DP. `stored_global_batch`
/// replaces global_batch_size = -1 on a resume (0: none stored). `most_layers`: those that fit on each rank of the
/// pipeline; empty: any number.
/// \error kUnsupported: a value that is not built yet. kInvalid: a value out of range, world size does not fit the
/// mesh, M not whole, M < DP, stages that cannot be (stage_rules.h), bad dimensions.
Result<RunPlan> make_run_plan(const Config& config, std::uint32_t world_size, std::int64_t stored_global_batch = 0,
                              const std::vector<std::uint32_t>& most_layers = {});

/// A plan that holds a whole model of these dimensions on one rank, in float32, for `seq_len` tokens at a time.
RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len);

/// Whether the backward pass computes the activations of `layer` (of the whole model) again: of every n-th, counted
/// from 1, as torchtitan counts them.
bool recomputes(const RunPlan& plan, std::int64_t layer);

/// The configuration with what was left open filled in, so that it reproduces the run: dimensions of the flavour, the
/// global batch, stride, seed (when given), threads per rank and library of products (when threads > 0). Layout keys
/// and the end of the LR curve stay as written.
Config resolved_config(const Config& config, const RunPlan& plan, std::optional<std::uint64_t> seed = {},
                       int threads = 0);

}  // namespace titan::recipe
