#pragma once
// What rank 0 prints of a step: torchtitan's console lines.
#include <cstdint>
#include <optional>
#include <string>

#include "libtrain/metrics/step_clock.h"

namespace titan::train {

struct StepMetrics {
  std::uint64_t step = 0;
  double loss = 0;            ///< global mean over tokens, nats
  double grad_norm = 0;       ///< before clipping
  double lr = 0;              ///< the one applied
  std::uint64_t tokens = 0;   ///< seen so far
  std::uint64_t samples = 0;  ///< consumed so far: where the next step begins
  double tps = 0;             ///< tokens per second and rank
  double time_s = 0;          ///< of this step
  StepTimes times;            ///< of it, on rank 0
  double tps_total = 0;       ///< tokens per second of all ranks together
};

/// torchtitan's console line with its widths, without newline:
/// "step: 10  loss:  9.94932  grad_norm:  1.5181  memory: n/a  tps: 5,855  tflops: 0.31  mfu: n/a".
/// A `tflops` that is not a positive number is unknown.
std::string step_line(const StepMetrics& metrics, std::optional<double> memory_gib, double tflops, bool color);
/// "validate step: 20  loss:  3.1234  memory: n/a  tps: 5,855"
std::string validation_line(std::uint64_t step, double loss, double tps, bool color);

}  // namespace titan::train
