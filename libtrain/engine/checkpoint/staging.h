#pragma once
// Staging memory: holds copies of leaves that the optimizer changes before the saver has written them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ckpt/base/mutex.h"

namespace titan::train {

/// Buffers of `leaf_bytes` bytes each, `limit` bytes in all, in host memory (pinned for a GPU). They are allocated on
/// demand, about 64 MiB at a time, and kept for the next save. Thread-safe.
class Staging {
 public:
  /// Returns to the free buffers when its last owner is destroyed.
  using Buffer = std::shared_ptr<std::byte[]>;

  Staging(std::uint64_t leaf_bytes, std::uint64_t limit) : leaf_bytes_(leaf_bytes), left_(limit / leaf_bytes) {}

  /// A free buffer. Null if all buffers that `limit` allows are in use, or the host has no more memory.
  Buffer take();

 private:
  using Memory = std::shared_ptr<std::byte[]>;
  struct Free {
    ckpt::Mutex mutex;
    std::vector<Memory> memory TITAN_GUARDED_BY(mutex);
  };

  Memory take_free();
  void make_some() TITAN_REQUIRES(making_);

  const std::uint64_t leaf_bytes_;
  ckpt::Mutex making_;  ///< held while memory is allocated: separate from Free::mutex, since pinning memory is slow
  std::uint64_t left_ TITAN_GUARDED_BY(making_);                 ///< buffers that may still be allocated
  std::uint64_t made_ TITAN_GUARDED_BY(making_) = 0;             ///< buffers allocated so far
  const std::shared_ptr<Free> free_ = std::make_shared<Free>();  ///< buffers may outlive this object
};

}  // namespace titan::train
