#include "libtrain/engine/checkpoint/live_source.h"

#include <ATen/ATen.h>

#include <cstring>

#include "ckpt/base/parallel.h"
#include "ckpt/read/ema.h"
#include "libtrain/engine/device/device.h"

namespace titan::train {

using ckpt::MutexLock;
using ckpt::Result;

LiveSource::LiveSource(const ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot, Staging& staging)
    : staging_(staging), fence_(device().fence()) {
  const MutexLock lock(mutex_);
  std::vector<std::string> slots{""};
  slots.insert(slots.end(), snapshot.slots.begin(), snapshot.slots.end());
  for (const std::string& slot : slots) {
    for (const ShardedAdamW::State& state : optimizer.states()) {
      const ckpt::LeafRange& leaves = state.piece.leaves;
      const ckpt::LeafGrid grid = snapshot.parameters[state.piece.parameter].grid(snapshot.leaf_elements);
      pieces_[{state.piece.parameter, slot}] = {leaves, rows_.size()};
      for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf)
        rows_.push_back({leaf_values(state, slot, grid, leaf), Place::kLive, nullptr});
    }
  }
  live_ = rows_.size();
}

Result<std::span<const std::byte>> LiveSource::leaf(const ckpt::TensorRef& ref, std::uint64_t leaf,
                                                    std::span<std::byte> scratch) {
  const auto found = pieces_.find({ref.index, ref.slot});
  if (found == pieces_.end() || leaf < found->second.leaves.first || leaf >= found->second.leaves.end())
    return ckpt::failed("leaf " + std::to_string(leaf) + " of parameter " + std::to_string(ref.index) +
                        " is not owned by this rank");
  const std::size_t index = found->second.first_row + (leaf - found->second.leaves.first);
  MutexLock lock(mutex_);
  while (rows_[index].place == Place::kBeingCopied) changed_.wait(lock);
  Row& row = rows_[index];
  if (closed_) return ckpt::failed("the save was given up");
  if (row.place == Place::kGone)
    return ckpt::failed("leaf " + std::to_string(leaf) + " of parameter " + std::to_string(ref.index) +
                        " was read before");
  const std::size_t bytes = row.live.nbytes();
  if (row.place == Place::kStaged) {
    const Staging::Buffer buffer = std::move(row.staged);
    row.place = Place::kGone;
    lock.unlock();
    std::memcpy(scratch.data(), buffer.get(), bytes);
    return std::span<const std::byte>(scratch.first(bytes));
  }
  if (!copy(row, scratch.first(bytes), lock)) return ckpt::failed("a leaf could not be copied from the device");
  row.place = Place::kGone;
  return std::span<const std::byte>(scratch.first(bytes));
}

bool LiveSource::copy(Row& row, std::span<std::byte> to, MutexLock& lock) {
  row.place = Place::kBeingCopied;
  ++copies_;
  lock.unlock();
  std::exception_ptr error;
  try {
    device().copy_out(row.live, to, fence_.get());
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --copies_;
  changed_.notify_all();
  if (error == nullptr) {
    --live_;
    return true;
  }
  row.place = Place::kLive;
  if (error_ == nullptr) error_ = error;
  closed_ = true;
  return false;
}

void LiveSource::stage(std::size_t index) {
  MutexLock lock(mutex_);
  Row& row = rows_[index];
  if (closed_ || row.place != Place::kLive) return;
  Staging::Buffer buffer = staging_.take();
  if (!buffer) return;
  if (!copy(row, {buffer.get(), row.live.nbytes()}, lock)) return;
  row.staged = std::move(buffer);
  row.place = Place::kStaged;
}

void LiveSource::stage_ahead(unsigned threads) {
  std::size_t count = 0;
  {
    const MutexLock lock(mutex_);
    if (live_ == 0) return;
    if (!closed_) count = rows_.size();
  }
  // From the last leaf to the first, since the writer reads from the first. If staging is full, the leaves without a
  // copy are then those that the writer reads next, so before_update() waits least.
  (void)ckpt::parallel_for(count, threads, [&](std::size_t i) {
    stage(count - 1 - i);
    return ckpt::ok_status();
  });
}

void LiveSource::before_update(unsigned threads) {
  stage_ahead(threads);
  MutexLock lock(mutex_);
  while (copies_ > 0 || (live_ > 0 && !closed_)) changed_.wait(lock);
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void LiveSource::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf) {
  const at::Tensor& flat = slot.empty()            ? state.param
                           : slot == ckpt::kExpAvg ? state.exp_avg
                           : slot == ckpt::kEma    ? state.ema
                                                   : state.exp_avg_sq;
  const std::uint64_t begin = grid.begin(leaf) - grid.begin(state.piece.leaves.first);
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(grid.length(leaf)));
}

}  // namespace titan::train
