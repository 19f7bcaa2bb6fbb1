#include "libtrain/engine/checkpoint/staging.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "libtrain/engine/device/device.h"

namespace titan::train {
namespace {

// Bytes per allocation. Pinning memory takes a lock of the driver that kernel launches need too, so allocations are few
// and large.
constexpr std::uint64_t kSlab = 64 << 20;

}  // namespace

Staging::Buffer Staging::take() {
  Memory memory = take_free();
  if (!memory) {
    const ckpt::MutexLock lock(making_);
    memory = take_free();
    if (!memory && left_ > 0) {
      make_some();
      memory = take_free();
    }
  }
  if (!memory) return nullptr;
  std::byte* const bytes = memory.get();
  return {bytes, [memory = std::move(memory), free = free_](std::byte*) mutable {
            const ckpt::MutexLock lock(free->mutex);
            free->memory.push_back(std::move(memory));
          }};
}

Staging::Memory Staging::take_free() {
  const ckpt::MutexLock lock(free_->mutex);
  if (free_->memory.empty()) return nullptr;
  Memory memory = std::move(free_->memory.back());
  free_->memory.pop_back();
  return memory;
}

void Staging::make_some() {
  const std::uint64_t count = std::min(left_, std::max<std::uint64_t>(1, kSlab / leaf_bytes_));
  Memory slab;
  try {
    slab = device().host_memory(count * leaf_bytes_);
  } catch (const std::exception&) {
    left_ = 0;  // what has no room is waited for
    return;
  }
  left_ -= count;
  made_ += count;
  const ckpt::MutexLock lock(free_->mutex);
  free_->memory.reserve(made_);  // so that returning a buffer allocates nothing and cannot throw
  for (std::uint64_t i = 0; i < count; ++i) free_->memory.emplace_back(slab, slab.get() + i * leaf_bytes_);
}

}  // namespace titan::train
