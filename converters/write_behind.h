#pragma once
// Writes blocks to a file in a separate thread, so that the next block is read meanwhile; in the caller's thread if the
// system gives no thread.
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

/// For one caller: take() a block, fill it, put() it, ..., finish(). Keeps the memory of the blocks under way, a few at
/// most.
class WriteBehind {
 public:
  using Block = std::vector<std::byte>;

  /// `file` must outlive this object, and nothing else may write to it meanwhile.
  explicit WriteBehind(ckpt::File& file);
  /// Waits for the block that is being written; drops the blocks after it.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// A block of `bytes` bytes of any content; waits while too many are under way. \error the error of an earlier write
  ckpt::Result<Block> take(std::uint64_t bytes);
  /// Hands over a block to be written at `offset`.
  void put(std::uint64_t offset, Block block);
  /// Waits until everything is written; call it once. The file is not synced. \error kFailed
  ckpt::Status finish();
  /// Drops the waiting blocks. The destructor calls it first.
  void give_up();

 private:
  struct Write {
    std::uint64_t offset;
    Block block;
  };
  void work();
  bool write_next();  // the front of the queue; false after an error

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
