#include "libtrain/checkpoint/staging.h"

#include <utility>

#include "libtrain/device/device.h"

namespace titan::train {

Staging::Buffer Staging::take() {
  const ckpt::MutexLock guard(mutex_);
  if (!free_.empty()) {
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  if (left_ == 0) return nullptr;
  --left_;
  return device().host_memory(leaf_bytes_);
}

void Staging::give_back(Buffer buffer) {
  const ckpt::MutexLock guard(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace titan::train
