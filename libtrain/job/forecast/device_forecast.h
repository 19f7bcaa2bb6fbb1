#pragma once
// Forecasts a run on GPUs from device specifications: memory per rank, and the time of a step by part. Pure; nothing is
// measured.
#include <cstdint>
#include <vector>

#include "libtrain/job/forecast/link_time.h"
#include "libtrain/job/forecast/memory.h"
#include "recipe/plan/device_figures.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Seconds of one micro-batch on a stage of the model.
struct StageSeconds {
  double forward = 0, backward = 0;  ///< backward includes recomputation
};

/// Seconds of the parts of a step.
struct StepSeconds {
  double pipeline = 0;   ///< all micro-batches, including idle time and transfers between stages
  double gradients = 0;  ///< sending gradients to their owners and summing them
  double optimizer = 0;
  double weights = 0;           ///< sending weights from their owners to all ranks
  double hidden_gradients = 0;  ///< the part of `gradients` that overlaps with computing, if the exchange has parts
  double hidden_weights = 0;
  double total() const { return pipeline + gradients + optimizer + weights - hidden_gradients - hidden_weights; }
};

struct DeviceForecast {
  recipe::DeviceFigures device;
  std::vector<RankMemory> memory;  ///< of each rank of the pipeline
  std::vector<StageSeconds> stages;
  double hop_seconds = 0;  ///< sending a micro-batch's hidden states over the slowest link between two stages
  StepSeconds step;
  LinkBytes gradients, weights;  ///< of the rank that transfers most in a step
  double tokens_per_second = 0;  ///< of all ranks
  double mfu = 0;                ///< model FLOP utilisation, as torchtitan computes it, but as a fraction (0 to 1)

  /// Device memory of the rank that needs most.
  std::uint64_t rank_bytes() const;
  bool fits() const { return rank_bytes() <= device.memory_bytes; }
};

/// Forecasts the run. \error kInvalid: a schedule that is not possible with this number of stages or micro-batches
ckpt::Result<DeviceForecast> forecast_device(const recipe::RunPlan& plan, const recipe::DeviceFigures& device);

/// Only the memory of the forecast, which is quick to compute: bytes of the rank that needs most, with the reserve for
/// CUDA and libraries (DeviceFigures). \error as forecast_device
ckpt::Result<std::uint64_t> device_bytes(const recipe::RunPlan& plan, const recipe::DeviceFigures& device);

}  // namespace titan::train
