#pragma once
// The pipeline schedules by name: how many stages a rank has, where they lie, how many micro-batches they take. Pure.
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

struct ScheduleFacts {
  ScheduleKind kind;
  const char* name;                         ///< as configurations and checkpoints write it
  std::uint32_t least_chunks, most_chunks;  ///< stages per rank; most 0: any number
  Placement placement = Placement::kLoop;
  bool splits_backward = false;  ///< gradients of inputs and of weights are apart (I and W)
};

/// All, in the order in which pages name them.
const std::vector<ScheduleFacts>& schedules();
const ScheduleFacts& facts_of(ScheduleKind kind);

/// Upper and lower case do not matter, as in torchtitan. `from_file`: the order of work comes from a file, so that
/// torchtitan's PipelineScheduleSingle and PipelineScheduleMulti are names, too: of schedules whose stages lie alike.
/// \error kInvalid with "did you mean"
ckpt::Result<ScheduleKind> schedule_by_name(const std::string& name, bool from_file = false);

/// A pipeline's size: `chunks` stages on each of `ranks` ranks, `micro_batches` on each data-parallel rank.
struct PipelineShape {
  std::uint32_t ranks = 1, chunks = 1, micro_batches = 1;
  std::uint32_t stages() const { return ranks * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

/// Whether the schedule can carry out this shape. \error kInvalid, with the nearest number of micro-batches that it
/// can.
ckpt::Status check_shape(ScheduleKind kind, const PipelineShape& shape);

}  // namespace titan::recipe
