#pragma once
// The orders of compute actions of each schedule, for shapes that recipe::check_shape accepts. Pure.
// \source the papers named at each; for p 2..8, v 1..4, m 1..32 the orders are those of torch 2.11
// (tests/interop/pipeline_oracle.py)
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// All forwards, stage after stage, then all backwards. `newest_first`: backwards begin with the last micro-batch.
/// \source GPipe: Huang et al. 2019; LoopedBFS: Lamy-Poirier 2022
ScheduleTable breadth_first(const recipe::PipelineShape& shape, bool newest_first);

/// 1F1B: one forward, one backward. \source Narayanan et al. 2021 (PipeDream-Flush, Megatron-LM), section 2.2
ScheduleTable one_forward_one_backward(const recipe::PipelineShape& shape);

/// Interleaved1F1B: 1F1B with several stages on each rank. \source Narayanan et al. 2021, section 2.2.2
ScheduleTable interleaved(const recipe::PipelineShape& shape);

/// InterleavedZeroBubble: Interleaved1F1B with gradients of weights delayed by as many backwards as the rank's number;
/// with one stage per rank it is ZB-H1. \source Qi et al. 2024, "Zero Bubble Pipeline Parallelism", sections 2 and 3
ScheduleTable interleaved_zero_bubble(const recipe::PipelineShape& shape);

/// ZBVZeroBubble: two stages per rank, placed in a V. \source Qi et al. 2024, section 6
ScheduleTable zero_bubble_v(const recipe::PipelineShape& shape);

/// DualPipeV: DeepSeek's DualPipe in a V, as a plain order of actions: a forward and a backward that DualPipe overlaps
/// come one after the other. \source DeepSeek-V3, 2024; github.com/deepseek-ai/DualPipe
ScheduleTable dual_pipe_v(const recipe::PipelineShape& shape);

}  // namespace titan::train
