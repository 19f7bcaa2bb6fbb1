#pragma once
// Transfers of activations and their gradients between stages, on one rank or between two.
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/engine/pipeline/buffer_pool.h"
#include "libtrain/engine/pipeline/send_queue.h"
#include "libtrain/job/reduction/tree.h"

namespace titan::train {

/// Identifies a tensor for `stage`: its input, or (if `backward`) the gradient of its output.
struct TransferPlace {
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;  ///< number within StageTransfers::Form::share
  bool backward = false;
  auto operator<=>(const TransferPlace&) const = default;

  /// The stage that sends the tensor.
  std::uint32_t from() const { return backward ? stage + 1 : stage - 1; }
};

class StageTransfers {
 public:
  /// Which micro-batches are transferred, and the shape and type of their tensors.
  struct Form {
    Share share;                       ///< the micro-batches of the step that this rank computes
    std::vector<std::int64_t> shape;   ///< of each tensor
    at::ScalarType type = at::kFloat;  ///< of each tensor
  };

  /// `rank_of` is the pipeline rank of each stage. `world` must outlive this object. \error std::length_error if there
  /// are not enough tags for the stages and micro-batches
  StageTransfers(const World& world, std::vector<std::uint32_t> rank_of, Form form);
  /// Transfers of another form between the same stages.
  StageTransfers(const StageTransfers& like, Form form) : StageTransfers(like.world_, like.rank_of_, std::move(form)) {}

  /// Whether `stage` is on this rank.
  bool is_here(std::uint32_t stage) const { return rank_of(stage) == world_.stage; }
  /// Starts to receive the tensor for `place` from another rank.
  void post_receive(const TransferPlace& place);
  /// Whether the tensor for `place` comes from another rank, so that take() may wait.
  bool is_posted(const TransferPlace& place) const;
  /// Returns the tensor for `place`, and waits for it if it comes from another rank. \error CommError, naming both
  /// stages, if it does not arrive
  at::Tensor take(const TransferPlace& place);
  /// Stores the tensor for `place`: for take() if its stage is on this rank, otherwise for send().
  void hand_over(const TransferPlace& place, at::Tensor tensor);
  /// Starts to send what hand_over() stored for `place`. \error CommError, also from the functions below
  void send(const TransferPlace& place);
  /// Waits until the tensor that was sent for `place` has arrived, and frees the tensor. Does not block once the
  /// receiver has sent back the gradient.
  void settle(const TransferPlace& place);
  /// Waits for the oldest gradients (`backward`) or inputs that this rank sends, until only `count` are in transit.
  void keep_newest(bool backward, std::size_t count) { sends(backward).keep_newest(count); }

 private:
  struct Incoming {
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;  ///< null: the tensor was handed over on this rank
  };

  int rank_of(std::uint32_t stage) const { return static_cast<int>(rank_of_.at(stage)); }
  std::uint64_t tag_of(const TransferPlace& place) const;
  std::string description_of(const TransferPlace& place) const;
  SendQueue& sends(bool backward) { return backward ? gradients_ : inputs_; }

  const World& world_;
  std::vector<std::uint32_t> rank_of_;
  Form form_;
  BufferPool buffers_;
  std::map<TransferPlace, Incoming> incoming_;
  std::map<TransferPlace, at::Tensor> to_send_;
  SendQueue inputs_, gradients_;  ///< sends in progress
};

}  // namespace titan::train
