#pragma once
// The numbers of a step that all ranks add up, in one row: losses, who asks to stop, the memory of each rank, and what
// the norm needs of each leaf.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/engine/optim/grad_norm.h"
#include "libtrain/job/metrics/step_metrics.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

class Control;

class StepRow {
 public:
  explicit StepRow(const recipe::RunPlan& plan, NormOrder order = {});

  /// What one rank has to say.
  struct Words {
    bool stop = false;      ///< it was asked to stop
    bool trouble = false;   ///< rank 0 has to tell of an error
    bool saved = false;     ///< the save in the background is over here
    bool save_due = false;  ///< rank 0's clock asks for a save
  };
  /// What this rank knows. `losses`: one element per micro-batch, each set by one rank.
  void fill(const std::vector<double>& losses, const Words& words, const std::vector<OwnedGradient>& grads);
  /// Then the memory of this rank, which has the number `rank`.
  void note_memory(int rank, const PeakMemory& memory);
  /// Of a model with experts: StepOutput::balance.
  void note_balance(double balance);
  /// The sum over all ranks, within their nodes first. One rank sets each value that is no flag: no order shapes a bit.
  void add_up(Control& all);

  double loss_sum() const;
  /// The largest loss of any micro-batch of the step.
  double largest_loss() const;
  /// The most of any rank; absent where no rank knows.
  PeakMemory memory() const;
  /// The mean over layers and micro-batches; nothing without experts.
  std::optional<double> balance() const;
  bool stop() const;
  bool trouble() const;
  /// On how many ranks the save is over.
  int saved() const;
  bool save_due() const;
  double grad_norm() const { return norms_.norm(leaves()); }
  /// The norm of each parameter's gradient, in the order of the plan.
  std::vector<double> parameter_norms() const { return norms_.parameter_norms(leaves()); }
  /// The first parameter by name whose gradient is not finite.
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
