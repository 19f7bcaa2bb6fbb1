#pragma once
// The values of a step, of a validation and of a save. They are made once, and are the same in console, metrics.jsonl
// and TensorBoard. Values that were not measured are absent.
#include <cstdint>
#include <optional>

#include "libtrain/job/metrics/step_clock.h"

namespace titan::train {

/// The most bytes that any rank has held since it started.
struct PeakMemory {
  std::optional<std::uint64_t> resident;  ///< of the process, as the kernel counts (VmHWM)
  std::optional<std::uint64_t> tensors;   ///< in large tensors at one time
  std::optional<std::uint64_t>
      device;  ///< memory of the GPU that holds the tensors; absent: they are in the process's memory
};

struct StepMetrics {
  std::uint64_t step = 0;
  double loss = 0;                        ///< global mean over tokens, nats
  double max_loss = 0;                    ///< the largest mean over the tokens of one micro-batch
  std::optional<double> router_aux_loss;  ///< for models with experts: mean over layers and micro-batches
  double grad_norm = 0;                   ///< before clipping
  double lr = 0;                          ///< as applied
  std::uint64_t tokens = 0;               ///< seen so far
  std::uint64_t samples = 0;              ///< consumed so far, which is where the next step begins
  double tps = 0;                         ///< tokens per second and rank
  double time_s = 0;                      ///< of this step
  StepTimes times;                        ///< of this step, on rank 0
  double tps_total = 0;                   ///< tokens per second of all ranks together
  std::optional<double> tflops;           ///< per second and rank
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
