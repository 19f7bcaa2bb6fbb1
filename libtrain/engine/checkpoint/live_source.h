#pragma once
// Provides a rank's leaves to a writer while training continues. Weights and moments change only in the optimizer's
// step. Before that step, leaves that the writer has not read are copied to staging memory. If staging memory is full,
// the step waits for the writer.
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

/// The writer calls leaf() once for each leaf, from one thread at a time. Meanwhile other threads may call the other
/// functions.
class LiveSource final : public ckpt::TensorSource {
 public:
  /// Keeps references to the tensors and to `staging`. The saved values are those after all device work that was
  /// started before this call.
  LiveSource(const ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot, Staging& staging);

  /// Always copies the leaf into `scratch`. \error kFailed if the rank does not own the leaf, the leaf was read before,
  /// the device threw, or close() was called
  ckpt::Result<std::span<const std::byte>> leaf(const ckpt::TensorRef& ref, std::uint64_t leaf,
                                                std::span<std::byte> scratch) override;
  /// Copies unread leaves to staging until it is full, with up to `threads` threads. before_update() then has fewer
  /// leaves to wait for. Thread-safe.
  void stage_ahead(unsigned threads);
  /// Copies unread leaves to staging with up to `threads` threads, and returns when the tensors may change: every leaf
  /// has been read or staged, or close() was called. \error rethrows an exception of a device copy in any thread;
  /// leaf() fails from then on
  void before_update(unsigned threads);
  /// Ends reading: leaf() fails from now on, and before_update() waits only for copies in progress.
  void close();

 private:
  enum class Place { kLive, kBeingCopied, kStaged, kGone };  ///< kLive: only in the tensor; kGone: read
  /// One leaf.
  struct Row {
    at::Tensor live;  ///< the leaf's elements in the optimizer's tensor
    Place place = Place::kLive;
    Staging::Buffer staged;  ///< the copy, if `place` is kStaged
  };
  /// The leaves of one tensor that this rank owns.
  struct Piece {
    ckpt::LeafRange leaves;
    std::size_t first_row = 0;  ///< index in rows_ of the first of them
  };

  /// Copies a live row to `to`, and releases the lock during the copy. Returns false if the device threw an exception;
  /// before_update() rethrows it.
  bool copy(Row& row, std::span<std::byte> to, ckpt::MutexLock& lock) TITAN_REQUIRES(mutex_);
  /// Copies row `index` to staging if it has not been read and staging has a free buffer.
  void stage(std::size_t index);

  Staging& staging_;
  std::shared_ptr<Fence> fence_;
  std::map<std::pair<std::uint32_t, std::string>, Piece> pieces_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::vector<Row> rows_ TITAN_GUARDED_BY(mutex_);   ///< in the order in which a save reads them
  std::size_t live_ TITAN_GUARDED_BY(mutex_) = 0;    ///< number of rows that are neither read nor staged
  std::size_t copies_ TITAN_GUARDED_BY(mutex_) = 0;  ///< copies of live rows in progress
  bool closed_ TITAN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TITAN_GUARDED_BY(mutex_);
};

/// A view of leaf `leaf` of the parameter (if `slot` is empty) or of its optimizer state `slot`, such as "exp_avg". The
/// rank must own the leaf.
at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf);

}  // namespace titan::train
