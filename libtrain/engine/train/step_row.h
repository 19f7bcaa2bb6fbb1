#pragma once
// The values of a step that are summed over all ranks in one array: losses, stop requests, the memory of each rank, and
// each leaf's contribution to the gradient norm.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/engine/optim/grad_norm.h"
#include "libtrain/job/metrics/step_metrics.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

class Control;

class StepRow {
 public:
  explicit StepRow(const recipe::RunPlan& plan, NormOrder order = {});

  /// The flags of one rank.
  struct Words {
    bool stop = false;      ///< this rank was asked to stop
    bool trouble = false;   ///< rank 0 has an error that ends the run
    bool saved = false;     ///< the background save is done on this rank
    bool save_due = false;  ///< a save is due by rank 0's clock (Saves::time_is_up)
  };
  /// Sets this rank's entries. `losses` has one element per micro-batch of the step: 0 if another rank computed it.
  void fill(const std::vector<double>& losses, const Words& words, const std::vector<OwnedGradient>& grads);
  /// Sets the memory of this rank, number `rank`. Call it after fill().
  void note_memory(int rank, const PeakMemory& memory);
  /// Sets this rank's load-balancing loss (Executor::StepOutput::balance). Without experts, does nothing.
  void note_balance(double balance);
  /// Sums the array over all ranks, within each node first. Bits do not depend on the order of additions: one rank sets
  /// a value, or the sum is exact (flags, and the balance, which is rounded for that). Call it before the functions
  /// below. Collective. \error CommError
  void add_up(Control& all);

  double loss_sum() const;
  /// The largest loss of any micro-batch of the step.
  double largest_loss() const;
  /// The maximum over ranks; a value is nullopt if no rank knows it.
  PeakMemory memory() const;
  /// The load-balancing loss, averaged over layers and micro-batches; nullopt without experts.
  std::optional<double> balance() const;
  bool stop() const;
  bool trouble() const;
  /// The number of ranks on which the background save is done.
  int saved() const;
  bool save_due() const;
  double grad_norm() const { return norms_.norm(leaves()); }
  /// The norm of each parameter's gradient, in the order of the plan.
  std::vector<double> parameter_norms() const { return norms_.parameter_norms(leaves()); }
  /// The first parameter by name whose gradient is not finite, as an index in the plan.
  std::optional<std::uint32_t> first_non_finite() const { return norms_.first_non_finite(leaves()); }

 private:
  const double* leaves() const;

  std::int64_t count_, ranks_;
  std::uint32_t node_ranks_;
  GradNorms norms_;
  std::int64_t layers_of_experts_;
  std::vector<double> row_;  // losses, stop, trouble, saved, save_due, memory of each rank, leaves, balance
};

}  // namespace titan::train
