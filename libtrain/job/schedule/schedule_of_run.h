#pragma once
// The schedule table of a run, from the name of a schedule or from a file. Pure.
#include <cstdint>

#include "libtrain/job/schedule/schedule.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// The schedule table (compute actions of each pipeline rank) for a data-parallel rank with `micro_batches`
/// micro-batches in each step. A table from a file is checked: its ranks, stages and micro-batches must be those of the
/// run, and simulate() must accept it. \error kInvalid: see recipe::check_shape; for a file, with line and cell where
/// one is wrong
ckpt::Result<ScheduleTable> schedule_of(const recipe::RunPlan& plan, std::uint32_t micro_batches);

}  // namespace titan::train
