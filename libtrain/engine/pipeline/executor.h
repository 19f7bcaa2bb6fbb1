#pragma once
// Runs one rank's row of a lowered pipeline table: forwards, backwards, and the transfers between them. Memory is that
// of the micro-batches in flight: what was sent goes as soon as its receiver has answered.
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
#include "libtrain/job/order/exchange_plan.h"
#include "libtrain/job/schedule/action_trace.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// Tokens and targets of one micro-batch, int64 [B,T] each.
struct MicroBatch {
  at::Tensor tokens, targets;
  std::vector<SampleMarks> marks;  ///< of each row; none: tokens alone
};
/// Of host tokens [B,T+1]: all but the last of each row, and all but the first, on the device. A target that is not
/// trained on is kNoTarget.
MicroBatch micro_batch_of(const at::Tensor& tokens, std::vector<SampleMarks> marks = {});
/// Hands out micro-batch `index` (global within the step); called on the first and the last stage only, and on all
/// where documents are kept apart.
using BatchSource = std::function<MicroBatch(std::uint32_t index)>;

/// Losses of experts' balance are summed in whole multiples of this, so that the order of additions is no matter.
inline constexpr double kBalanceUnit = 0x1p-30;

/// More than a dozen members: what a step has under way lies in one place, for an action finds it by stage and
/// micro-batch.
class Executor {
 public:
  /// By `compute`, the table of all ranks. `stages` are those of this rank's row, in their order in the model. `world`,
  /// `plan` and the stages must outlive the executor.
  Executor(World& world, const recipe::RunPlan& plan, std::vector<Stage*> stages, const ScheduleTable& compute);

  /// Whom gradients are handed to and weights asked of while stages compute; null: nobody. It must outlive the steps.
  void work_with(StepExchange* exchange) { exchange_ = exchange; }

  /// Every stage asks for the documents of a micro-batch.
  void keep_documents_apart() { documents_apart_ = true; }

  /// Of the step: data, forward, backward and waiting go into it, the rest is the caller's.
  StepClock& clock() { return clock_; }

  /// Actions go into `trace` from here on; null: nowhere.
  void trace(ActionTrace* trace) { trace_ = trace; }

  struct StepOutput {
    std::vector<TreeSum> sums;   ///< one per parameter, stage after stage, complete for this rank's block
    std::vector<double> losses;  ///< [M], sums over tokens; zero where another rank computes the micro-batch
    /// Of this rank's layers of experts and micro-batches, the sum of their balance losses: a multiple of kBalanceUnit,
    /// so that sums over ranks are exact in any order.
    double balance = 0;
  };
  /// Runs all micro-batches of this rank once; each token's loss is scaled by 1 / `tokens` in the gradients.
  /// \error CommError when a peer is lost.
  StepOutput run_step(const BatchSource& batches, std::uint64_t tokens);

  /// Forward only: the losses of this rank's share of `count` validation batches of shape [rows, seq_len]; entry i is
  /// the sum over the first valid_rows(i) rows. Zero where another rank computes the batch, or on stages without the
  /// loss. `goes_on` is asked by every rank before each of as many batches as the busiest rank has (by one with several
  /// stages before as many at once as there are ranks), and gives all of them the same answer; nothing where it says
  /// no.
  std::optional<std::vector<double>> run_forward(const BatchSource& batches, std::uint32_t count, std::int64_t rows,
                                                 std::int64_t seq_len,
                                                 const std::function<std::int64_t(std::uint32_t)>& valid_rows,
                                                 const std::function<bool()>& goes_on);

 private:
  /// A stage of this rank.
  struct Held {
    Stage* stage;
    std::size_t first_sum;  ///< place of its sums in StepOutput
    std::unique_ptr<StageGradients> gradients;
  };
  struct Flight {
    StagePass pass;
    at::Tensor seed;  ///< gradient of the output, where the stage computes the loss
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
  /// `later`: where the products of weights go; null: multiplied at once.
  void backward(const Held& held, std::uint32_t local, std::vector<WeightProduct>* later, StepOutput& out);
  void multiply_weights(const Held& held, std::uint32_t local, StepOutput& out);
  /// The output of a whole stage, of which nothing goes backward.
  at::Tensor run_through(const Stage& stage, at::Tensor x, const MicroBatch& batch);
  /// Sets the entries of the micro-batches whose losses were computed here: the one time that the host waits for them.
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
  std::map<std::uint32_t, at::Tensor> loss_sums_;        ///< by micro-batch of the step, until they are read
  std::map<Cell, std::vector<WeightProduct>> products_;  ///< between I and W
  StepClock clock_;
  ActionTrace* trace_ = nullptr;
  bool documents_apart_ = false;
};

}  // namespace titan::train
