#pragma once
// A rank's leaves for a writer that reads them while training continues. Weights and moments change only in the
// optimizer's step. Before that step, leaves that the writer has not read are copied to staging, or the step waits for
// the writer.
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/mutex.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/tensor_stream.h"
#include "libtrain/engine/checkpoint/staging.h"
#include "libtrain/engine/optim/adamw.h"

namespace titan::train {

class Fence;

/// Each leaf is asked for once, by one thread. Another thread may call before_update() and close().
class LiveSource final : public ckpt::TensorSource {
 public:
  /// Keeps references to the tensors and to `staging`. The saved values are those after all device work that was
  /// started before this call.
  LiveSource(const ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot, Staging& staging);

  /// Always copies the leaf into `scratch`.
  ckpt::Result<std::span<const std::byte>> leaf(const ckpt::TensorRef& ref, std::uint64_t leaf,
                                                std::span<std::byte> scratch) override;
  /// Copies unread leaves to staging while it has room, with up to `threads` threads, so that before_update() waits
  /// little. Thread-safe.
  void stage_ahead(unsigned threads);
  /// Returns when the tensors may change: every leaf has been read or staged. Up to `threads` threads copy. \error
  /// rethrows an exception of a device copy in any thread; nothing more is read then
  void before_update(unsigned threads);
  /// Ends reading: leaf() fails from now on, and before_update() waits only for copies in progress.
  void close();

 private:
  enum class Place { kLive, kBeingCopied, kStaged, kGone };
  struct Row {
    at::Tensor live;
    Place place = Place::kLive;
    Staging::Buffer staged;
  };
  struct Piece {
    ckpt::LeafRange leaves;
    std::size_t first_row = 0;
  };

  /// Copies a live row to `to`, releasing the lock meanwhile. Returns false if the device threw; before_update()
  /// rethrows it.
  bool copy(Row& row, std::span<std::byte> to, ckpt::MutexLock& lock) TITAN_REQUIRES(mutex_);
  /// Copies row `index` to staging if it is still needed and staging has room.
  void stage(std::size_t index);

  Staging& staging_;
  std::shared_ptr<Fence> fence_;
  std::map<std::pair<std::uint32_t, std::string>, Piece> pieces_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::vector<Row> rows_ TITAN_GUARDED_BY(mutex_);   ///< in the order in which a save reads them
  std::size_t live_ TITAN_GUARDED_BY(mutex_) = 0;    ///< rows that an update would overwrite before they are saved
  std::size_t copies_ TITAN_GUARDED_BY(mutex_) = 0;  ///< copies of live rows in progress
  bool closed_ TITAN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TITAN_GUARDED_BY(mutex_);
};

/// The values of leaf `leaf` of the parameter (if `slot` is empty) or of its moment `slot`. The rank must own the leaf.
at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf);

}  // namespace titan::train
