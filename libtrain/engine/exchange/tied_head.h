#pragma once
// For a tied head (one that uses the embedding's weight) on another rank than its embedding: sends the head's gradients
// to the embedding's rank, and the updated weight back to the head.
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/row_exchange.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/reduction/stage_exchange.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Transfers between the two ranks of a pipeline that hold embedding and head. If one rank holds both, sends() and
/// receives() are false.
class TiedHead {
 public:
  /// References must outlive the object.
  TiedHead(World& world, const recipe::RunPlan& plan, const StageExchange& exchange)
      : world_(world), plan_(plan), exchange_(exchange) {}

  bool sends() const { return exchange_.sends_tied; }        ///< this rank has the head
  bool receives() const { return exchange_.receives_tied; }  ///< this rank has the embedding

  /// Sends the head's sums, one tensor per tree node. \error CommError, also from the functions below
  void send_sums(const std::vector<at::Tensor>& nodes) const;
  /// Receives the head's sums: one tensor for each of the embedding's own sums, `of_embedding`, and of its size.
  std::vector<at::Tensor> receive_sums(const std::vector<at::Tensor>& of_embedding) const;
  /// Copies the embedding's compute copy to the head's. Both ranks call this, each with its own copy as `table` (1-D).
  void transfer_table(const at::Tensor& table, const RowExchange& rows) const;

 private:
  int first_rank() const;
  int last_rank() const;

  World& world_;
  const recipe::RunPlan& plan_;
  const StageExchange& exchange_;
};

}  // namespace titan::train
