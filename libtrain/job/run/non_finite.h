#pragma once
// A step whose loss or gradient is not finite: what is said of it, and what becomes of the run. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/sample_range.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

struct NonFinite {
  std::uint64_t step = 0;
  ckpt::SampleRange samples;  ///< that the step read, with what it left out between them
  double loss = 0, norm = 0;
  std::string tensor;                  ///< the first by name whose gradient is not finite; empty: none
  std::optional<std::uint64_t> layer;  ///< of the tensor, where it is in one
  std::uint32_t stage = 0;             ///< of the tensor
};

/// Whether loss and norm are finite.
bool all_finite(double loss, double norm);
/// `parameter`: the first whose gradient is not finite, as its place in the plan.
NonFinite non_finite(const recipe::RunPlan& plan, std::uint64_t step, ckpt::SampleRange samples, double loss,
                     double norm, std::optional<std::uint32_t> parameter);

/// "step 5: non-finite gradient norm".
std::string what_happened(const NonFinite& found);
/// "the first gradient by name that is not finite: layers.0.ffn_norm.weight (layer 0, stage 1)"; empty without one.
std::string where_it_is(const NonFinite& found);
/// Both, and the samples, on one line.
std::string one_line(const NonFinite& found);
EventFields event_fields(const NonFinite& found, const char* action);

/// training.on_nonfinite over a run: every rank asks, and gets the same answer.
class NonFinitePolicy {
 public:
  enum class Action { kStop, kSkip, kRollback };

  explicit NonFinitePolicy(const recipe::Config::Training& training);
  /// Whether a checkpoint to go back to will be asked for.
  bool goes_back() const { return wanted_ == Action::kRollback; }
  /// What becomes of a step that is not finite. `saved`: there is a checkpoint.
  Action meet(bool saved);
  /// A step was finite.
  void passed() { skips_ = 0; }
  /// The error where meet() said kStop.
  ckpt::Status stop_status(const NonFinite& found) const;

 private:
  Action wanted_;
  std::int64_t max_skips_, max_rollbacks_, skips_ = 0, rollbacks_ = 0;
  bool saved_ = false;
  std::string why_;  // it stops, where it was not to
};

}  // namespace titan::train
