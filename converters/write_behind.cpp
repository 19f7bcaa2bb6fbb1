#include "converters/write_behind.h"

#include <utility>

namespace titan::convert {
namespace {

constexpr std::size_t kBlocks = 4;  // one being filled, one being written, two that even out

}  // namespace

WriteBehind::WriteBehind(ckpt::File& file) : file_(file), free_(kBlocks), thread_([this] { work(); }) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = dropped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

ckpt::Result<WriteBehind::Block> WriteBehind::take(std::uint64_t bytes) {
  Block block;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty() || !status_.ok(); });
    if (!status_.ok()) return status_;
    block = std::move(free_.back());
    free_.pop_back();
  }
  block.resize(bytes);
  return block;
}

void WriteBehind::put(std::uint64_t offset, Block block) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({offset, std::move(block)});
  }
  changed_.notify_all();
}

ckpt::Status WriteBehind::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
  return status_;
}

void WriteBehind::work() {
  for (;;) {
    Write write;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty() || closed_; });
      if (queue_.empty() || dropped_) return;
      write = std::move(queue_.front());
      queue_.pop_front();
    }
    const ckpt::Status status = file_.pwrite(write.offset, write.block);
    {
      const std::lock_guard lock(mutex_);
      if (!status.ok()) status_ = status;
      free_.push_back(std::move(write.block));
    }
    changed_.notify_all();
    if (!status.ok()) return;
  }
}

}  // namespace titan::convert
