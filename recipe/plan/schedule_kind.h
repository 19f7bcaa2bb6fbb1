#pragma once
// Pipeline schedules by name: stages per rank, their placement, valid numbers of micro-batches. Pure.
// \source names and rules: torch.distributed.pipelining.schedules of torch 2.11; "ZB-H1": Qi et al. 2024, section 4
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/plan/placement.h"

namespace titan::recipe {

using ckpt::Placement;
using ckpt::rank_of_stage;
using ckpt::stage_of_chunk;

enum class ScheduleKind : std::uint8_t {
  kGPipe,
  k1F1B,
  kZbH1,
  kInterleaved1F1B,
  kLoopedBfs,
  kInterleavedZeroBubble,
  kZbvZeroBubble,
  kDualPipeV,
};

/// The properties of a schedule.
struct ScheduleFacts {
  ScheduleKind kind;
  const char* name;                         ///< the name in configurations and checkpoints
  std::uint32_t least_chunks, most_chunks;  ///< stages per rank; most_chunks 0: no limit
  Placement placement = Placement::kLoop;
  bool splits_backward = false;  ///< gradients of inputs (I) and of weights (W) are separate operations
};

/// All schedules, in the order of the documentation.
const std::vector<ScheduleFacts>& schedules();
const ScheduleFacts& facts_of(ScheduleKind kind);

/// The schedule called `name`, in upper or lower case, as in torchtitan. With `from_file` (a schedule table),
/// torchtitan's PipelineScheduleSingle and PipelineScheduleMulti are accepted, too, as schedules with the same
/// placement of stages. \error kInvalid, with "did you mean"
ckpt::Result<ScheduleKind> schedule_by_name(const std::string& name, bool from_file = false);

/// The size of a pipeline: `chunks` stages on each of `ranks` ranks, `micro_batches` for each data-parallel rank.
struct PipelineShape {
  std::uint32_t ranks = 1, chunks = 1, micro_batches = 1;
  std::uint32_t stages() const { return ranks * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

/// Checks that the schedule can run with this shape. \error kInvalid; for a wrong number of micro-batches, with the
/// nearest valid one
ckpt::Status check_shape(ScheduleKind kind, const PipelineShape& shape);

}  // namespace titan::recipe
