#pragma once
// The values of a step, a validation and a save. Computed once, and equal in console, metrics.jsonl and TensorBoard.
// Values that were not measured are absent.
#include <cstdint>
#include <optional>

#include "libtrain/job/metrics/step_clock.h"

namespace titan::train {

/// Memory in bytes. Peaks are those since the start; each is the maximum over all ranks.
struct PeakMemory {
  std::optional<std::uint64_t> resident;  ///< peak of the process's resident memory (VmHWM)
  std::optional<std::uint64_t> tensors;   ///< peak of the tensors on the GPU; on the CPU, of the large tensors
  std::optional<std::uint64_t> device;    ///< all memory of the GPU (no peak); absent on the CPU
};

struct StepMetrics {
  std::uint64_t step = 0;
  double loss = 0;  ///< global mean over tokens, nats
  /// The largest loss of a micro-batch: the sum over its tokens, divided by the mean number of tokens per micro-batch.
  double max_loss = 0;
  std::optional<double> router_aux_loss;  ///< load-balancing loss of experts: mean over layers and micro-batches
  double grad_norm = 0;                   ///< before clipping
  double lr = 0;                          ///< as applied
  std::uint64_t tokens = 0;               ///< seen so far
  std::uint64_t samples = 0;              ///< samples consumed so far: the data position of the next step
  double tps = 0;                         ///< tokens per second and rank
  double time_s = 0;                      ///< seconds of this step
  StepTimes times;                        ///< of this step, on rank 0
  double tps_total = 0;                   ///< tokens per second of all ranks together
  std::optional<double> tflops;           ///< model TFLOP/s per rank
  std::optional<double> mfu;              ///< model FLOP utilisation in percent of the device's peak
  PeakMemory memory;
};

struct ValidationMetrics {
  std::uint64_t step = 0;
  double loss = 0;
  std::uint64_t tokens = 0;  ///< number of tokens that `loss` is averaged over
  double time_s = 0;
  double tps = 0;  ///< tokens per second and rank
  PeakMemory memory;
};

/// A save. Times are in seconds on rank 0:
/// - snapshot_s: copying what is not a tensor
/// - stall_s: the time for which training waited
/// - write_s: until every rank had written
/// - publish_s: manifest and renames
/// - durable_s: from when the save was due until it was durable
/// \source docs/json.md
struct SaveMetrics {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double snapshot_s = 0, stall_s = 0, write_s = 0, publish_s = 0, durable_s = 0;
  double gb_per_s = 0;
};

}  // namespace titan::train
