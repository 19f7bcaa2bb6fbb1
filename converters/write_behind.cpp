#include "converters/write_behind.h"

#include <utility>

#include "ckpt/base/fs.h"

namespace titan::convert {
namespace {

constexpr std::size_t kBlocks = 4;  // one is filled, one is written, two even out varying speeds

}  // namespace

WriteBehind::WriteBehind(ckpt::File& file) : file_(file), free_(kBlocks) {
  (void)thread_.start([this] { work(); });  // else put() writes
}

WriteBehind::~WriteBehind() {
  give_up();
  thread_.join();
}

void WriteBehind::give_up() {
  {
    const ckpt::MutexLock lock(mutex_);
    closed_ = dropped_ = true;
  }
  changed_.notify_all();
}

ckpt::Result<WriteBehind::Block> WriteBehind::take(std::uint64_t bytes) {
  Block block;
  {
    ckpt::MutexLock lock(mutex_);
    while (free_.empty() && status_.ok()) changed_.wait(lock);
    if (!status_.ok()) return status_;
    block = std::move(free_.back());
    free_.pop_back();
  }
  block.resize(bytes);
  return block;
}

void WriteBehind::put(std::uint64_t offset, Block block) {
  {
    const ckpt::MutexLock lock(mutex_);
    queue_.push_back({offset, std::move(block)});
  }
  changed_.notify_all();
  if (thread_.empty()) write_next();
}

ckpt::Status WriteBehind::finish() {
  {
    const ckpt::MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
  return status_;
}

void WriteBehind::work() {
  for (;;) {
    {
      ckpt::MutexLock lock(mutex_);
      while (queue_.empty() && !closed_) changed_.wait(lock);
      if (queue_.empty() || dropped_) return;
    }
    if (!write_next()) return;
  }
}

bool WriteBehind::write_next() {
  Write write;
  {
    const ckpt::MutexLock lock(mutex_);
    if (!status_.ok()) return false;
    write = std::move(queue_.front());
    queue_.pop_front();
  }
  ckpt::Status status = ckpt::contained([&] { return file_.pwrite(write.offset, write.block); });
  const bool ok = status.ok();
  {
    const ckpt::MutexLock lock(mutex_);
    status_ = std::move(status);
    free_.push_back(std::move(write.block));
  }
  changed_.notify_all();
  return ok;
}

}  // namespace titan::convert
