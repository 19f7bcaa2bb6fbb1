#pragma once
// Receive buffers that are reused once nothing holds the received tensor.
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::train {

class BufferPool {
 public:
  /// A contiguous tensor with undefined values. Its memory returns to the pool when the last tensor that shares it is
  /// destroyed.
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);
  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<at::Tensor> buffers_;
};

}  // namespace titan::train
