#pragma once
// Where tensors come from and go to, one leaf at a time: the seam between ckpt and trainers or converters.
#include <cstddef>
#include <span>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Hands out the raw bytes of leaves. Calls may come from one thread at a time.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Returns the bytes of leaf `leaf`: either a view that stays valid until the next call, or filled into `scratch`
  /// (which is large enough for one leaf) and returned as a part of it.
  virtual Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                                  std::span<std::byte> scratch) = 0;
};

}  // namespace titan::ckpt
