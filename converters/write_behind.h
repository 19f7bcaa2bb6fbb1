#pragma once
// Writes blocks to a file in a separate thread, so that the next block can be read meanwhile. If the system gives no
// thread, the caller's thread writes.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "ckpt/base/helpers.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {
class File;
}

namespace titan::convert {

/// For one calling thread: take() a block, fill it, put() it, ..., finish(). Holds at most a few blocks in memory.
class WriteBehind {
 public:
  using Block = std::vector<std::byte>;

  /// `file` must outlive this object, and nothing else may write to it meanwhile.
  explicit WriteBehind(ckpt::File& file);
  /// Waits for the block that is being written; drops queued blocks.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// Returns a block of `bytes` bytes with undefined content. Waits while too many blocks are pending. \error the error
  /// of an earlier write
  ckpt::Result<Block> take(std::uint64_t bytes);
  /// Queues a block to be written at `offset`.
  void put(std::uint64_t offset, Block block);
  /// Waits until everything is written; call it once. The file is not synced. \error kFailed
  ckpt::Status finish();
  /// Drops the queued blocks without writing them. The destructor calls it first.
  void give_up();

 private:
  struct Write {
    std::uint64_t offset;
    Block block;
  };
  void work();
  bool write_next();  // writes the front of the queue; false after an error

  ckpt::File& file_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::vector<Block> free_;
  std::deque<Write> queue_;
  bool closed_ = false;   // no more blocks come
  bool dropped_ = false;  // queued blocks are not written
  ckpt::Status status_;
  ckpt::Helpers thread_;
};

}  // namespace titan::convert
