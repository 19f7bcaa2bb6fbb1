#pragma once
// The sends in progress of one rank. The queue keeps their tensors alive.
#include <cstdint>
#include <deque>
#include <memory>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/communicator.h"

namespace titan::train {

class SendQueue {
 public:
  /// Starts to send `tensor` to rank `to` of `group`. \error CommError, also from the functions below
  void send(Fabric& group, const at::Tensor& tensor, int to, std::uint64_t tag);
  /// Waits for the send with this tag and frees its tensor.
  void settle(std::uint64_t tag);
  /// Waits for the oldest sends, and frees their tensors, until only `count` are left.
  void keep_newest(std::size_t count);
  std::size_t size() const { return sends_.size(); }

 private:
  struct Send {
    std::uint64_t tag = 0;
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;
  };
  std::deque<Send> sends_;
};

}  // namespace titan::train
