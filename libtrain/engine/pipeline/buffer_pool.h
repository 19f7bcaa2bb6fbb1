#pragma once
// A pool of buffers for received tensors.
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::train {

class BufferPool {
 public:
  /// A contiguous, uninitialised tensor. Its memory returns to the pool when the last tensor that shares it is
  /// destroyed.
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);
  /// The number of buffers, free and in use.
  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<at::Tensor> buffers_;
};

}  // namespace titan::train
