#pragma once
// Reads a schedule from text in torchtitan's format (parallelism.pipeline_parallel_schedule_csv). Pure.
#include <string_view>

#include "libtrain/pipeline/schedule.h"

namespace titan::train {

/// One row per rank, cells between commas: "<stage><F|B|I|W><micro-batch>", or empty for an idle slot. Whether the
/// actions fit together is for simulate() to say.
/// \error kInvalid with line and cell: an unreadable cell, a transfer, or one that overlaps actions; kInvalid: no cell
ckpt::Result<ScheduleTable> parse_schedule_csv(std::string_view text);

}  // namespace titan::train
