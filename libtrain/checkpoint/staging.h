#pragma once
// Memory for leaves that an optimizer step overtakes before they are written.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ckpt/base/mutex.h"

namespace titan::train {

/// Buffers of one leaf each, in memory that the device chooses: made when they are first needed, and kept for the next
/// save. Thread-safe.
class Staging {
 public:
  using Buffer = std::shared_ptr<std::byte[]>;

  Staging(std::uint64_t leaf_bytes, std::uint64_t limit) : leaf_bytes_(leaf_bytes), left_(limit / leaf_bytes) {}

  /// Null where all that `limit` allows is in use.
  Buffer take();
  void give_back(Buffer buffer);

 private:
  const std::uint64_t leaf_bytes_;
  ckpt::Mutex mutex_;
  std::uint64_t left_ TITAN_GUARDED_BY(mutex_);  ///< buffers that may still be made
  std::vector<Buffer> free_ TITAN_GUARDED_BY(mutex_);
};

}  // namespace titan::train
