#pragma once
// Non-finite loss or gradient: messages, and what the run does. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/sample_range.h"
#include "libtrain/job/metrics/metrics_file.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

struct NonFinite {
  std::uint64_t step = 0;
  ckpt::SampleRange samples;  ///< samples read by the step, including excluded samples inside the range
  double loss = 0, norm = 0;
  std::string tensor;                  ///< the first parameter by name whose gradient is not finite; empty: none
  std::optional<std::uint64_t> layer;  ///< layer of the tensor, if it is in one
  std::uint32_t stage = 0;             ///< stage of the tensor
};

/// Whether loss and norm are finite.
bool all_finite(double loss, double norm);
/// `parameter`: the first parameter whose gradient is not finite, as its place in the plan.
NonFinite non_finite(const recipe::RunPlan& plan, std::uint64_t step, ckpt::SampleRange samples, double loss,
                     double norm, std::optional<std::uint32_t> parameter);

/// A text like "step 5: non-finite gradient norm".
std::string what_happened(const NonFinite& found);
/// A text like "the first gradient by name that is not finite: layers.0.ffn_norm.weight (layer 0, stage 1)"; empty if
/// there is none.
std::string where_it_is(const NonFinite& found);
/// what_happened(), where_it_is() and the samples, on one line.
std::string one_line(const NonFinite& found);
EventFields event_fields(const NonFinite& found, const char* action);

/// Applies training.on_nonfinite during a run. Every rank has one and gets the same answers.
class NonFinitePolicy {
 public:
  enum class Action { kStop, kSkip, kRollback };

  /// The values of training.on_nonfinite, training.max_skips and training.max_rollbacks.
  NonFinitePolicy(const std::string& on_nonfinite, std::int64_t max_skips, std::int64_t max_rollbacks);
  /// Whether the policy may return to a checkpoint.
  bool goes_back() const { return wanted_ == Action::kRollback; }
  /// The action for a non-finite step. `saved`: there is a checkpoint.
  Action meet(bool saved);
  /// Call this after a step that is finite.
  void passed() { skips_ = 0; }
  /// The error of the run if meet() returned kStop.
  ckpt::Status stop_status(const NonFinite& found) const;

 private:
  Action wanted_;
  std::int64_t max_skips_, max_rollbacks_, skips_ = 0, rollbacks_ = 0;
  bool saved_ = false;
  std::string why_;  // why the run stops although another action is configured
};

}  // namespace titan::train
