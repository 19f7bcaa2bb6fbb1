#pragma once
// Sends in progress, with their tensors, which must stay alive.
#include <cstdint>
#include <deque>
#include <memory>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/communicator.h"

namespace titan::train {

class SendQueue {
 public:
  /// Sends `tensor` under `tag`. \error CommError; so do settle() and keep_newest()
  void send(Fabric& group, const at::Tensor& tensor, int to, std::uint64_t tag);
  /// Waits for the send under `tag` and removes it. Does not block if the receiver has answered already.
  void settle(std::uint64_t tag);
  /// Waits for the oldest sends until only `count` are left.
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
