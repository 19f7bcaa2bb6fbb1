#pragma once
// The schedule table of a run, from the name of a schedule or from a file. Pure.
#include <cstdint>

#include "libtrain/job/schedule/schedule.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// The compute actions of a data-parallel rank with `micro_batches` micro-batches in each step. For a table from a
/// file, checks ranks, stages, micro-batches, and that it does not deadlock. \error kInvalid: see recipe::check_shape;
/// for a file with line and cell
ckpt::Result<ScheduleTable> schedule_of(const recipe::RunPlan& plan, std::uint32_t micro_batches);

}  // namespace titan::train
