#pragma once
// The plan of a run as values: mesh, batches, stages. run_plan.h makes it.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/model/codec.h"
#include "ckpt/model/leaf.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/tensor_meta.h"
#include "recipe/model/dims.h"
#include "recipe/plan/cpu_gemm.h"
#include "recipe/plan/parameter_rules.h"
#include "recipe/plan/schedule_kind.h"

namespace titan::recipe {

/// The micro-batches of a step. Micro-batch k (from 0, counted over all ranks) has the samples
/// [k * micro, (k+1) * micro) of the step, whatever the layout.
struct BatchPlan {
  std::int64_t micro = 0;   ///< sequences per micro-batch
  std::int64_t global = 0;  ///< sequences per step
  std::int64_t count = 0;   ///< M = global / micro
  std::int64_t seq_len = 0;
  std::int64_t tokens_per_step() const { return global * seq_len; }
  bool operator==(const BatchPlan&) const = default;
};

/// When data-parallel ranks exchange gradients: after a step's last micro-batch; after each micro-batch within a node
/// (host), and after the last one among all ranks; or after each micro-batch among all ranks.
enum class ExchangeDomain { kLate, kNode, kAlways };

/// A schedule table in torchtitan's CSV format, read from a file. An empty path: none.
struct ScheduleFile {
  std::string path, text;
};

/// Everything derived from the configuration and the number of ranks.
struct RunPlan {
  ModelDims dims;
  ckpt::Mesh mesh;
  BatchPlan batch;
  ScheduleKind schedule = ScheduleKind::k1F1B;
  /// The order of work, if a file gives it; `schedule` then only places the stages on ranks. Filled when a run starts;
  /// make_run_plan does not read the file.
  ScheduleFile schedule_file;
  std::uint32_t chunks = 1;         ///< stages per pipeline rank
  bool bf16 = false;                ///< compute dtype bfloat16; parameters, moments, gradient sums stay fp32
  double router_aux_loss = 0;       ///< weight of the loss that balances experts; 0: no gradient from it
  bool ema = false;                 ///< the run keeps an EMA of the parameters
  CpuGemm gemm = CpuGemm::kMkl;     ///< set by a start, not by make_run_plan
  std::int64_t loss_chunk = 0;      ///< number of tokens whose logits exist at a time; 0: all of a micro-batch
  std::int64_t recompute_each = 0;  ///< every n-th layer is recomputed in the backward pass; 0: none
  ExchangeDomain exchange = ExchangeDomain::kLate;
  std::uint64_t exchange_bytes = 256 << 20;  ///< limit of the exchange buffers per rank, in bytes
  std::uint32_t exchange_parts = 1;          ///< number of parts; one is sent while the next is computed; 1: no overlap
  bool shard_gradients = false;              ///< zero2 (sharded gradients): kLate then exchanges as kAlways
  bool keeps_scores = false;                 ///< attention stores its scores: on a GPU "math", or "auto" in float32
  std::uint32_t node_ranks = 0;              ///< number of consecutive ranks on one host, set by a start; 0: all ranks
  std::vector<ckpt::ParameterMeta> parameters;  ///< in model order; `stage` of each is the pipeline rank that holds it
  std::vector<std::uint32_t> stages;            ///< stage of each parameter, in model order; empty: each rank has one
                                                ///< stage
  std::vector<UpdateSettings> updates;          ///< settings of each parameter; empty: all as in the optimizer section
  std::vector<std::uint32_t> stage_cuts;        ///< first layer group (0 embedding, 1..L, L+1 head) of stages 1, 2, ...
  std::vector<double> stage_share;              ///< fraction of the total cost, per stage
  std::string stages_from;                      ///< the key that specifies the stages; empty: chosen by cost
  ckpt::LrSettings lr;
  ckpt::Codec codec = ckpt::Codec::kRaw;                     ///< of checkpoints
  std::uint64_t leaf_elements = ckpt::kDefaultLeafElements;  ///< the unit in which tensors are cut, owned and saved
  std::vector<std::string> warnings;                         ///< for rank 0's log: legal, but probably unintended

  /// The schedule's name in `plan`, logs, traces and the attempt record: the path of the schedule file, if there is
  /// one.
  std::string schedule_name() const { return has_schedule_file() ? schedule_file.path : facts_of(schedule).name; }
  bool has_schedule_file() const { return !schedule_file.path.empty(); }
  std::uint32_t stage_count() const { return mesh.pp * chunks; }
  std::uint32_t stage_of(std::size_t parameter) const {
    return stages.empty() ? parameters[parameter].stage : stages[parameter];
  }
  /// The pipeline rank that has `stage`.
  std::uint32_t rank_of(std::uint32_t stage) const {
    return rank_of_stage(facts_of(schedule).placement, mesh.pp, stage);
  }
  std::uint32_t stage_of_chunk(std::uint32_t rank, std::uint32_t chunk) const {
    return recipe::stage_of_chunk(facts_of(schedule).placement, mesh.pp, rank, chunk);
  }
  /// The pipeline shape of a data-parallel rank with `micro_batches` in each step.
  PipelineShape pipeline(std::uint32_t micro_batches) const { return {mesh.pp, chunks, micro_batches}; }
};

}  // namespace titan::recipe
