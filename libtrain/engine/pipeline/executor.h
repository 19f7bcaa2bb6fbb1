#pragma once
// Runs one rank's actions of a pipeline schedule: forwards, backwards, and the transfers between stages. It holds
// tensors only for micro-batches in flight. A sent activation is freed when its receiver has sent back the gradient.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/step_exchange.h"
#include "libtrain/engine/exchange/tree_sum.h"
#include "libtrain/engine/model/stage.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/engine/pipeline/stage_pass.h"
#include "libtrain/engine/pipeline/stage_transfers.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/metrics/step_clock.h"
#include "libtrain/job/reduction/exchange_plan.h"
#include "libtrain/job/schedule/action_trace.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// Tokens and targets of one micro-batch, int64 [B,T] each.
struct MicroBatch {
  at::Tensor tokens, targets;
  std::vector<SampleMarks> marks;  ///< for each row, starts of documents and tokens without a loss; empty if the data
                                   ///< has none
};
/// Creates a micro-batch on the device from host tokens [B,T+1]: `tokens` are all but the last token of each row,
/// `targets` all but the first. A target without a loss (SampleMarks::untrained) becomes kNoTarget.
MicroBatch micro_batch_of(const at::Tensor& tokens, std::vector<SampleMarks> marks = {});
/// Returns micro-batch `index` of the step (of all ranks). Called on the first and last stage only; with document
/// masking on all stages.
using BatchSource = std::function<MicroBatch(std::uint32_t index)>;

/// Load-balancing losses are rounded to multiples of this, so that their sums are exact in any order.
inline constexpr double kBalanceUnit = 0x1p-30;

/// Runs the steps and validations of one rank. It has many members because each action of the table may need what any
/// earlier one left: stages, transfers, micro-batches in progress, losses, products.
class Executor {
 public:
  /// `compute` is the schedule table of all ranks. `stages` are the stages of this rank, in model order. `world`,
  /// `plan` and the stages must outlive the executor.
  Executor(World& world, const recipe::RunPlan& plan, std::vector<Stage*> stages, const ScheduleTable& compute);

  /// Sets the exchange of gradients and weights that steps use; null: none. `exchange` must outlive the steps.
  void work_with(StepExchange* exchange) { exchange_ = exchange; }

  /// Turns on document masking: from now on every stage calls the BatchSource for the micro-batch's documents.
  void keep_documents_apart() { documents_apart_ = true; }

  /// The times of the step. The executor adds the times of data, forward, backward and waiting; the caller adds the
  /// other times.
  StepClock& clock() { return clock_; }

  /// Records actions in `trace` from now on; null: stops recording.
  void trace(ActionTrace* trace) { trace_ = trace; }

  /// What a rank has computed in a step.
  struct StepOutput {
    std::vector<TreeSum> sums;   ///< gradient sums over this rank's micro-batches: one per parameter, stage after stage
    std::vector<double> losses;  ///< by micro-batch of the step [M]: sum over tokens; 0 if another rank computes it
    /// The sum of the load-balancing losses of this rank's MoE layers and micro-batches: a multiple of kBalanceUnit.
    double balance = 0;
  };
  /// Runs all micro-batches of this rank once. Gradients are those of the sum of the tokens' losses, divided by
  /// `tokens`, the number of tokens of the step that have a loss; with experts, plus those of the load-balancing loss
  /// (moe.h). \error CommError if a peer is lost
  StepOutput run_step(const BatchSource& batches, std::uint64_t tokens);

  /// The losses of `count` validation batches of shape [rows, seq_len], which are divided among the data-parallel
  /// ranks. Entry i is the sum over the first valid_rows(i) rows of batch i. The entry is 0 if another rank computes
  /// it: another data-parallel rank, or the last stage. All ranks call goes_on() equally often, before batches, and it
  /// must return the same on all ranks. Once it returns false, the result is nullopt. \error CommError if a peer is
  /// lost
  std::optional<std::vector<double>> run_forward(const BatchSource& batches, std::uint32_t count, std::int64_t rows,
                                                 std::int64_t seq_len,
                                                 const std::function<std::int64_t(std::uint32_t)>& valid_rows,
                                                 const std::function<bool()>& goes_on);

 private:
  /// A stage that this rank holds.
  struct Held {
    Stage* stage;
    std::size_t first_sum;  ///< index of the stage's first sum in StepOutput::sums
    std::unique_ptr<StageGradients> gradients;
  };
  /// A micro-batch between its forward and its backward on one stage.
  struct Flight {
    StagePass pass;
    at::Tensor seed;  ///< gradient of the output, if the stage computes the loss
  };
  /// A stage and the number of a micro-batch among those of this rank.
  using Cell = std::pair<std::uint32_t, std::uint32_t>;
  const Held& held(std::uint32_t stage) const;
  at::Tensor take(const TransferPlace& place);
  void run(const Action& action, const BatchSource& batches, std::uint64_t tokens, StepOutput& out);
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums);
  void before_use(const Stage& stage, std::size_t segment);
  void before_loss();
  void after_backward(const Stage& stage, std::uint32_t local, StepOutput& out);
  bool needs_data(const Stage& stage) const { return stage.spec().embedding || stage.spec().head || documents_apart_; }
  MicroBatch load(const BatchSource& batches, std::uint32_t index);
  void forward(const Held& held, std::uint32_t local, const BatchSource& batches, std::uint64_t tokens,
               StepOutput& out);
  /// If `later` is given, the products that are weight gradients are not computed but added to it.
  void backward(const Held& held, std::uint32_t local, std::vector<WeightProduct>* later, StepOutput& out);
  void multiply_weights(const Held& held, std::uint32_t local, StepOutput& out);
  /// The output of a whole stage, without keeping anything for a backward.
  at::Tensor run_through(const Stage& stage, at::Tensor x, const MicroBatch& batch);
  /// Sets the entries of micro-batches whose losses this rank computed. Waits for the device.
  void read_losses(std::vector<double>& losses);
  double read_balance();
  std::span<TreeSum> sums_of(const Held& held, StepOutput& out) const;

  World& world_;
  const recipe::RunPlan& plan_;
  Share share_;  ///< which micro-batches of the step this rank computes
  StepExchange* exchange_ = nullptr;
  std::vector<Held> held_;
  StageTransfers transfers_;  ///< the transfers of steps; run_forward() has its own
  std::vector<Action> actions_;
  std::map<Cell, Flight> in_flight_;
  std::map<std::uint32_t, at::Tensor> loss_sums_;  ///< by micro-batch of the step; read_losses() empties it
  std::map<Cell, std::vector<WeightProduct>>
      products_;  ///< from action I (gradient of the input) until action W (gradients of the weights)
  StepClock clock_;
  ActionTrace* trace_ = nullptr;
  bool documents_apart_ = false;
};

}  // namespace titan::train
