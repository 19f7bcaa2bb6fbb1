#pragma once
// The interface through which trainers and converters hand tensors to a save, one leaf at a time.
#include <cstddef>
#include <span>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Provides the raw bytes of leaves. It is called by one thread at a time.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Returns the bytes of leaf `leaf`: a view that is valid until the next call, or a part of `scratch` (which has room
  /// for one leaf) after filling it.
  virtual Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                                  std::span<std::byte> scratch) = 0;
};

}  // namespace titan::ckpt
