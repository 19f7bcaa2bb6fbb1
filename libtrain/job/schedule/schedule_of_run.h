#pragma once
// The table that a run's ranks carry out: by the name of a schedule, or from a file. Pure.
#include <cstdint>

#include "libtrain/job/schedule/schedule.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Compute actions of a data-parallel rank that has `micro_batches` in each step. A table from a file is checked whole:
/// its ranks, stages, micro-batches, and that it ends.
/// \error kInvalid: see recipe::check_shape; of a file with line and cell
ckpt::Result<ScheduleTable> schedule_of(const recipe::RunPlan& plan, std::uint32_t micro_batches);

}  // namespace titan::train
