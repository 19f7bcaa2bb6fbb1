#pragma once
// The leaves that a rank owns, for a writer that reads them while training goes on. Weights and moments change only in
// the optimizer's step: what the writer has not read by then is copied to staging, or the step waits for the writer.
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
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/optim/adamw.h"

namespace titan::train {

/// Each leaf is asked for once, by one thread. let_change() and close() may come from another.
class LiveSource final : public ckpt::TensorSource {
 public:
  /// Keeps the tensors, and `staging`. What was begun on the device before is what is saved.
  LiveSource(const ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot, Staging& staging);

  /// Always filled into `scratch`.
  ckpt::Result<std::span<const std::byte>> leaf(const ckpt::TensorRef& ref, std::uint64_t leaf,
                                                std::span<std::byte> scratch) override;
  /// Copies to staging what is not read yet and has room there, on up to `threads`, so that let_change() waits for
  /// little or nothing. From any thread, beside the others.
  void stage_ahead(unsigned threads);
  /// Returns when the tensors may change: each leaf was read, or lies in staging. Up to `threads` copy. \error what a
  /// copy from the device threw, in whichever thread; nothing more is read then
  void let_change(unsigned threads);
  /// Nothing more is read: leaf() fails from now on, and let_change() waits for nothing but a copy under way.
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

  /// Copies a live row, without the lock meanwhile. False: the device threw, which let_change() will.
  bool copy(Row& row, std::span<std::byte> to, ckpt::MutexLock& lock) TITAN_REQUIRES(mutex_);
  /// Copies a row to staging where that is needed and there is room.
  void stage(std::size_t index);

  Staging& staging_;
  std::shared_ptr<Fence> fence_;
  std::map<std::pair<std::uint32_t, std::string>, Piece> pieces_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::vector<Row> rows_ TITAN_GUARDED_BY(mutex_);   ///< in the order in which a save asks for them
  std::size_t live_ TITAN_GUARDED_BY(mutex_) = 0;    ///< rows that an update would spoil
  std::size_t copies_ TITAN_GUARDED_BY(mutex_) = 0;  ///< of live rows, under way
  bool closed_ TITAN_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TITAN_GUARDED_BY(mutex_);
};

/// The values of leaf `leaf` of the parameter (`slot` empty) or of a moment of it; the rank owns the leaf.
at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf);

}  // namespace titan::train
