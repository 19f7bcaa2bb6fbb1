#pragma once
// A run on GPUs, sized from their figures: what a rank needs of the memory, and where the time of a step goes. Pure;
// nothing here is measured.
#include <cstdint>
#include <vector>

#include "libtrain/job/forecast/link_time.h"
#include "libtrain/job/forecast/memory.h"
#include "recipe/plan/device_figures.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Seconds of one micro-batch on a stage of the model.
struct StageSeconds {
  double forward = 0, backward = 0;  ///< with what is computed again
};

/// Parts of a step.
struct StepSeconds {
  double pipeline = 0;   ///< all micro-batches, with idle time and transfers between stages
  double gradients = 0;  ///< to their owners, and summed there
  double optimizer = 0;
  double weights = 0;           ///< from their owners to all
  double hidden_gradients = 0;  ///< of these, what passes while the rank computes: with parts of the exchange
  double hidden_weights = 0;
  double total() const { return pipeline + gradients + optimizer + weights - hidden_gradients - hidden_weights; }
};

struct DeviceForecast {
  recipe::DeviceFigures device;
  std::vector<RankMemory> memory;  ///< of each rank of the pipeline
  std::vector<StageSeconds> stages;
  double hop_seconds = 0;  ///< a hidden tensor between stages that lie farthest apart
  StepSeconds step;
  LinkBytes gradients, weights;  ///< of the rank that moves most in a step
  double tokens_per_second = 0;  ///< of all ranks
  double mfu = 0;                ///< of the peak, as torchtitan counts

  /// What the rank that needs most takes of the device.
  std::uint64_t rank_bytes() const;
  bool fits() const { return rank_bytes() <= device.memory_bytes; }
};

/// \error kInvalid: a schedule that does not fit
ckpt::Result<DeviceForecast> forecast_device(const recipe::RunPlan& plan, const recipe::DeviceFigures& device);

/// The part of it that is quick, of the rank that needs most, with the device's reserve. \error as forecast_device
ckpt::Result<std::uint64_t> device_bytes(const recipe::RunPlan& plan, const recipe::DeviceFigures& device);

}  // namespace titan::train
