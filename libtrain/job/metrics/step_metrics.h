#pragma once
// The values of a step, of a validation and of a save: made once, and shown alike by console, metrics.jsonl and
// TensorBoard. What was not measured is absent.
#include <cstdint>
#include <optional>

#include "libtrain/job/metrics/step_clock.h"

namespace titan::train {

/// The most that any rank has held since it started, bytes.
struct PeakMemory {
  std::optional<std::uint64_t> resident;  ///< of the process, as the kernel counts (VmHWM)
  std::optional<std::uint64_t> tensors;   ///< in large tensors that lived at one time
  std::optional<std::uint64_t> device;    ///< what there is where these lie: a GPU's memory; none: in the process's
};

struct StepMetrics {
  std::uint64_t step = 0;
  double loss = 0;                        ///< global mean over tokens, nats
  double max_loss = 0;                    ///< the largest mean over the tokens of one micro-batch
  std::optional<double> router_aux_loss;  ///< of models with experts: the mean over layers and micro-batches
  double grad_norm = 0;                   ///< before clipping
  double lr = 0;                          ///< the one applied
  std::uint64_t tokens = 0;               ///< seen so far
  std::uint64_t samples = 0;              ///< consumed so far: where the next step begins
  double tps = 0;                         ///< tokens per second and rank
  double time_s = 0;                      ///< of this step
  StepTimes times;                        ///< of it, on rank 0
  double tps_total = 0;                   ///< tokens per second of all ranks together
  std::optional<double> tflops;           ///< a second and rank
  std::optional<double> mfu;              ///< share of the device's peak, percent
  PeakMemory memory;
};

struct ValidationMetrics {
  std::uint64_t step = 0;
  double loss = 0;
  std::uint64_t tokens = 0;  ///< that `loss` is the mean of
  double time_s = 0;
  double tps = 0;  ///< tokens per second and rank
  PeakMemory memory;
};

/// Seconds are rank 0's.
struct SaveMetrics {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double snapshot_s = 0, stall_s = 0, write_s = 0, publish_s = 0, durable_s = 0;
  double gb_per_s = 0;
};

}  // namespace titan::train
