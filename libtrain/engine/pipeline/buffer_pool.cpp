#include "libtrain/engine/pipeline/buffer_pool.h"

#include <ATen/ATen.h>

#include "libtrain/engine/device/device.h"

namespace titan::train {

at::Tensor BufferPool::take(at::IntArrayRef shape, at::ScalarType type) {
  for (const at::Tensor& buffer : buffers_)
    if (buffer.storage().use_count() == 1 && buffer.scalar_type() == type && buffer.sizes() == shape)
      return buffer.detach();
  return buffers_.emplace_back(at::empty(shape, device().options(type))).detach();
}

}  // namespace titan::train
