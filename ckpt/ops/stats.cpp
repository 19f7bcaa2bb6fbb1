#include "ckpt/ops/stats.h"

#include <utility>
#include <vector>

#include "ckpt/base/mutex.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/spares.h"
#include "ckpt/ops/leaf_runs.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {
namespace {

// Bytes read at a time: few enough to be still in the cache when they are hashed and summed.
constexpr std::uint64_t kCachedBytes = std::uint64_t{1} << 20;

// A tensor that is not finished: statistics of each leaf until the last one is done.
struct Partial {
  std::vector<TensorStats> leaves;
  std::uint64_t missing = 0;
};

class StatsCollector {
 public:
  StatsCollector(const CheckpointReader& reader, const std::vector<TensorRow>& rows, const StatsOptions& options)
      : reader_(reader), rows_(rows), options_(options), partials_(rows.size()), results_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      append_runs(runs_, i, grid(i), dtype_size(rows[i].dtype), kCachedBytes);
      partials_[i].missing = rows[i].leaves;
      total_ += rows[i].bytes;
    }
  }

  Status run() {
    return parallel_for(runs_.size(), io_threads(options_.threads), [&](std::size_t i) { return one(runs_[i]); });
  }
  std::vector<TensorStats> take() {
    const MutexLock lock(mutex_);
    return std::move(results_);
  }

 private:
  LeafGrid grid(std::size_t i) const { return {element_count(rows_[i].shape), reader_.manifest().leaf_elements}; }

  Status one(const TensorRun& run) {
    TITAN_RETURN_IF_ERROR(options_.cancel.check());
    const TensorRow& row = rows_[run.tensor];
    const LeafGrid leaves = grid(run.tensor);
    const std::uint64_t size = dtype_size(row.dtype), begin = leaves.begin(run.leaves.first);
    std::vector<std::byte> buffer = spares_.take();
    buffer.resize((leaves.begin(run.leaves.end()) - begin) * size);
    TITAN_RETURN_IF_ERROR(reader_.read(row.ref, run.leaves, buffer));
    std::vector<TensorStats> found;
    for (std::uint64_t leaf = run.leaves.first; leaf < run.leaves.end(); ++leaf)
      found.push_back(stats_of(
          row.dtype, std::span(buffer).subspan((leaves.begin(leaf) - begin) * size, leaves.length(leaf) * size)));
    const std::uint64_t bytes = buffer.size();
    spares_.give(std::move(buffer));

    const MutexLock lock(mutex_);
    Partial& partial = partials_[run.tensor];
    partial.leaves.resize(row.leaves);
    std::copy(found.begin(), found.end(), partial.leaves.begin() + static_cast<std::ptrdiff_t>(run.leaves.first));
    partial.missing -= run.leaves.count;
    if (partial.missing == 0) {
      for (const TensorStats& leaf : partial.leaves) merge_stats(results_[run.tensor], leaf);
      partial.leaves = {};
    }
    done_ += bytes;
    if (options_.progress) options_.progress(done_, total_);
    return ok_status();
  }

  const CheckpointReader& reader_;
  const std::vector<TensorRow>& rows_;
  const StatsOptions& options_;
  std::vector<TensorRun> runs_;
  std::uint64_t total_ = 0;
  Spares<std::vector<std::byte>> spares_;
  Mutex mutex_;
  std::vector<Partial> partials_ TITAN_GUARDED_BY(mutex_);
  std::vector<TensorStats> results_ TITAN_GUARDED_BY(mutex_);
  std::uint64_t done_ TITAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<std::vector<TensorStats>> tensor_statistics(Fs& fs, const std::string& path, const std::vector<TensorRow>& rows,
                                                   const StatsOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, options.open(fs, path));
  StatsCollector collector(reader, rows, options);
  TITAN_RETURN_IF_ERROR(collector.run());
  return collector.take();
}

}  // namespace titan::ckpt
