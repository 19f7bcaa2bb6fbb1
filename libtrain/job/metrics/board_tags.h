#pragma once
// TensorBoard scalars for a step, a validation and a save, under the names that torchtitan uses, where it has the same
// scalar. Pure.
#include <vector>

#include "libtrain/job/metrics/event_record.h"
#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

std::vector<BoardScalar> board_scalars(const StepMetrics& metrics);
std::vector<BoardScalar> board_scalars(const ValidationMetrics& metrics);
std::vector<BoardScalar> board_scalars(const SaveMetrics& metrics);

}  // namespace titan::train
