#pragma once
// The lines that rank 0 prints for steps, in torchtitan's form.
#include <string>

#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

/// torchtitan's console line with its widths, without newline:
/// "step: 10  loss:  9.94932  grad_norm:  1.5181  memory: n/a  tps: 5,855  tflops: 0.31  mfu: n/a". Unknown values are
/// n/a. The memory is that of tensors on a GPU, with its percentage of the GPU's memory; else the resident memory.
std::string step_line(const StepMetrics& metrics, bool color);
/// "validate step: 20  loss:  3.1234  memory: n/a  tps: 5,855"
std::string validation_line(const ValidationMetrics& metrics, bool color);

}  // namespace titan::train
