#pragma once
// Runs one rank's row of a lowered pipeline table: forwards, backwards, and the transfers between them.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/model/stage.h"
#include "libtrain/parallel/communicator.h"
#include "libtrain/pipeline/schedule.h"
#include "libtrain/reduce/canonical.h"

namespace titan::train {

/// Tokens and targets of one micro-batch, int64 [B,T] each.
struct MicroBatch {
  at::Tensor tokens, targets;
};
/// Hands out micro-batch `index` (global within the step); called on the first and the last stage only.
using BatchSource = std::function<MicroBatch(std::uint32_t index)>;

class Executor {
 public:
  /// `micro` sequences of `seq_len` tokens per micro-batch. `world` and `stage` must outlive the executor.
  Executor(World& world, const recipe::RunPlan& plan, Stage& stage);

  struct StepOutput {
    std::vector<TreeSum> sums;   ///< one per stage parameter, complete for this rank's block
    std::vector<double> losses;  ///< [M], sums over tokens; zero where another rank computes the micro-batch
  };
  /// Runs all micro-batches of this rank once; each token's loss is scaled by 1 / `tokens` in the gradients.
  /// \error CommError when a peer is lost.
  StepOutput run_step(const BatchSource& batches, std::uint64_t tokens);

  /// Forward only: the losses of this rank's share of `count` validation batches of shape [rows, seq_len]; entry i is
  /// the sum over the first valid_rows(i) rows. Zero where another rank computes the batch, or on stages without the
  /// loss.
  std::vector<double> run_forward(const BatchSource& batches, std::uint32_t count, std::int64_t rows,
                                  std::int64_t seq_len, const std::function<std::int64_t(std::uint32_t)>& valid_rows);

 private:
  struct InFlight {
    at::Tensor input;   ///< leaf that requires grad, undefined on the first stage
    at::Tensor output;  ///< hidden, or per-token losses on the last stage
  };
  struct Incoming {
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;
  };
  struct Outgoing {
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;
  };

  void post_receive(const Action& action);
  at::Tensor take_received(ActionKind kind, std::uint32_t micro_batch);
  void send(const at::Tensor& tensor, int to, std::uint64_t tag);
  void forward(std::uint32_t local, const BatchSource& batches, StepOutput& out);
  void backward(std::uint32_t local, std::uint64_t tokens, StepOutput& out);
  void drain_sends();
  at::Tensor hidden_buffer(std::int64_t rows, std::int64_t seq_len) const;

  World& world_;
  const recipe::RunPlan& plan_;
  Stage& stage_;
  Node block_;  ///< global micro-batches of this rank
  std::vector<Action> actions_;
  std::map<std::uint32_t, InFlight> in_flight_;
  std::map<std::pair<ActionKind, std::uint32_t>, Incoming> incoming_;
  std::map<std::uint32_t, at::Tensor> grad_to_send_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace titan::train
