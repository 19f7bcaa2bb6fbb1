#pragma once
// Receive buffers that are used again once nobody holds what came in them.
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::train {

class BufferPool {
 public:
  /// A contiguous tensor with undefined values. Its memory comes back by itself, when the last tensor that shares it is
  /// gone.
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);
  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<at::Tensor> buffers_;
};

}  // namespace titan::train
