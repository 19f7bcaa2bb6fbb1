#pragma once
// A tied head that is on another stage than its embedding: its gradients go to the first stage, the table comes back.
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/row_exchange.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/order/stage_exchange.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Transfers between the ranks of one pipeline that hold the two ends. Nothing to do where both are on one rank.
class TiedHead {
 public:
  /// References must outlive it.
  TiedHead(World& world, const recipe::RunPlan& plan, const StageExchange& exchange)
      : world_(world), plan_(plan), exchange_(exchange) {}

  bool sends() const { return exchange_.sends_tied; }        ///< this rank has the head
  bool receives() const { return exchange_.receives_tied; }  ///< this rank has the embedding

  /// The head's sums leave, one transfer a node.
  void send_sums(const std::vector<at::Tensor>& nodes) const;
  /// Those that came, each as large as its sum of the embedding.
  std::vector<at::Tensor> receive_sums(const std::vector<at::Tensor>& of_embedding) const;
  /// The compute copy of the embedding goes to the head's rank. Both ranks call it, each with its own `table`.
  void move_table(const at::Tensor& table, const RowExchange& rows) const;

 private:
  int first_rank() const { return static_cast<int>(plan_.rank_of(0)); }
  int last_rank() const { return static_cast<int>(plan_.rank_of(plan_.stage_count() - 1)); }

  World& world_;
  const recipe::RunPlan& plan_;
  const StageExchange& exchange_;
};

}  // namespace titan::train
