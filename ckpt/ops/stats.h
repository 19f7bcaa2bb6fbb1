#pragma once
// `inspect --stats`: statistics of stored tensors, which are read and checked leaf by leaf on several threads.
#include <cstdint>
#include <functional>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/tensor_stats.h"

namespace titan::ckpt {

class Fs;

struct StatsOptions {
  unsigned threads = 0;  ///< 0: as io_threads()
  /// Called by one thread at a time with the bytes read so far and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  CancelToken cancel;
  CheckpointOpener open = CheckpointReader::open;
};

/// Statistics of each tensor in `rows` of the checkpoint at `path`, in the same order. Computed per leaf and merged in
/// leaf order, so the results are equal for any layout, codec and number of threads. Memory: one leaf or 1 MiB per
/// thread, and 72 bytes for each leaf of a tensor that is not finished. \error kNotFound, kCorrupt (a leaf does not
/// match its digest), kIncompatible, kFailed, kMediaError, kInterrupted, kTerminated
Result<std::vector<TensorStats>> tensor_statistics(Fs& fs, const std::string& path, const std::vector<TensorRow>& rows,
                                                   const StatsOptions& options = {});

}  // namespace titan::ckpt
