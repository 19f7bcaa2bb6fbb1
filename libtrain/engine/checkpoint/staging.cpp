#include "libtrain/engine/checkpoint/staging.h"

#include <utility>

#include "libtrain/engine/device/device.h"

namespace titan::train {

Staging::Buffer Staging::take() {
  const ckpt::MutexLock guard(mutex_);
  Memory memory;
  {
    const ckpt::MutexLock lock(free_->mutex);
    if (!free_->memory.empty()) {
      memory = std::move(free_->memory.back());
      free_->memory.pop_back();
    } else if (left_ > 0) {
      free_->memory.reserve(made_ + 1);  // what gives back must not throw
    }
  }
  if (!memory) {
    if (left_ == 0) return nullptr;
    memory = device().host_memory(leaf_bytes_);
    --left_;
    ++made_;
  }
  std::byte* const bytes = memory.get();
  return {bytes, [memory = std::move(memory), free = free_](std::byte*) mutable {
            const ckpt::MutexLock lock(free->mutex);
            free->memory.push_back(std::move(memory));
          }};
}

}  // namespace titan::train
