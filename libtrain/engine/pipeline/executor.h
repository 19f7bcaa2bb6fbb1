#pragma once
// Runs one rank's row of a lowered pipeline table: forwards, backwards, and the transfers between them. Holds tensors
// only for micro-batches in flight: a sent tensor is freed as soon as its receiver has answered.
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
  std::vector<SampleMarks> marks;  ///< of each row; empty: there are only tokens
};
/// Makes a micro-batch on the device from host tokens [B,T+1]: the inputs are all but the last token of each row, the
/// targets all but the first. A target that is not trained on is kNoTarget.
MicroBatch micro_batch_of(const at::Tensor& tokens, std::vector<SampleMarks> marks = {});
/// Returns micro-batch `index` (global within the step). Called on the first and last stage only, or on all stages with
/// document masking.
using BatchSource = std::function<MicroBatch(std::uint32_t index)>;

/// Load-balancing losses are rounded to multiples of this, so that the order of additions does not matter.
inline constexpr double kBalanceUnit = 0x1p-30;

/// More than a dozen members, since everything in progress in a step is in one class, where actions find it by stage
/// and micro-batch.
class Executor {
 public:
  /// `compute` is the schedule table of all ranks. `stages` are the stages of this rank's row, in model order. `world`,
  /// `plan` and the stages must outlive the executor.
  Executor(World& world, const recipe::RunPlan& plan, std::vector<Stage*> stages, const ScheduleTable& compute);

  /// Sets the exchange that takes gradients and provides weights during steps; null: none. `exchange` must outlive the
  /// steps.
  void work_with(StepExchange* exchange) { exchange_ = exchange; }

  /// From now on every stage asks the BatchSource for a micro-batch's documents (document masking).
  void keep_documents_apart() { documents_apart_ = true; }

  /// The clock of the step. The executor adds data, forward, backward and waiting times; the caller adds the rest.
  StepClock& clock() { return clock_; }

  /// Records actions in `trace` from now on; null: does not record.
  void trace(ActionTrace* trace) { trace_ = trace; }

  struct StepOutput {
    std::vector<TreeSum> sums;   ///< one per parameter, stage after stage, complete for this rank's block
    std::vector<double> losses;  ///< [M], sums over tokens; zero if another rank computes the micro-batch
    /// The sum of the load-balancing losses of this rank's expert layers and micro-batches. A multiple of kBalanceUnit,
    /// so sums over ranks are exact in any order.
    double balance = 0;
  };
  /// Runs all micro-batches of this rank once. Gradients are those of each token's loss / `tokens`.
  /// \error CommError if a peer is lost.
  StepOutput run_step(const BatchSource& batches, std::uint64_t tokens);

  /// Forward only: the losses of this rank's share of `count` validation batches of shape [rows, seq_len]. Entry i is
  /// the sum over the first valid_rows(i) rows; it is zero if another rank computes the batch, and on stages without
  /// the loss. Every rank calls `goes_on` before each batch, as often as the rank with the most batches; ranks with
  /// several stages call it once per group of as many batches as the pipeline has ranks. It must return the same on all
  /// ranks. Once it returns false, the result is nullopt.
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
  struct Flight {
    StagePass pass;
    at::Tensor seed;  ///< gradient of the output, if the stage computes the loss
  };
  /// A stage and a micro-batch (local to this rank).
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
  /// `later` collects the weight products; null: they are computed at once.
  void backward(const Held& held, std::uint32_t local, std::vector<WeightProduct>* later, StepOutput& out);
  void multiply_weights(const Held& held, std::uint32_t local, StepOutput& out);
  /// The output of a whole stage, without a backward.
  at::Tensor run_through(const Stage& stage, at::Tensor x, const MicroBatch& batch);
  /// Sets the entries of micro-batches whose losses this rank computed. The host waits for losses only here.
  void read_losses(std::vector<double>& losses);
  double read_balance();
  std::span<TreeSum> sums_of(const Held& held, StepOutput& out) const;

  World& world_;
  const recipe::RunPlan& plan_;
  Share share_;  ///< global micro-batches of this rank
  StepExchange* exchange_ = nullptr;
  std::vector<Held> held_;
  StageTransfers transfers_;  ///< of steps
  std::vector<Action> actions_;
  std::map<Cell, Flight> in_flight_;
  std::map<std::uint32_t, at::Tensor> loss_sums_;  ///< by micro-batch of the step, until read_losses()
  std::map<Cell, std::vector<WeightProduct>>
      products_;  ///< kept between actions I (input gradients) and W (weight gradients)
  StepClock clock_;
  ActionTrace* trace_ = nullptr;
  bool documents_apart_ = false;
};

}  // namespace titan::train
