#pragma once
// How many steps fit into a budget of disk space, by the rules of `prune`. Pure.
#include <cstdint>
#include <optional>
#include <vector>

#include "ckpt/ops/prune.h"

namespace titan::recipe {

struct RetentionFit {
  std::uint64_t keep_last = 0;     ///< the most that fit; 0: not even one and the next save
  std::uint64_t fixed_bytes = 0;   ///< of what no rule deletes: pinned, partial and invalid steps, step 0, damaged ones
  std::uint64_t most_bytes = 0;    ///< on disk at most: what is kept, and the save that is being written
  std::uint64_t least_budget = 0;  ///< what one step would need
  std::uint64_t steps_to_delete = 0, bytes_to_delete = 0;  ///< by `prune --keep-last` now
};

/// `bytes` of each step of `scan`, in its order; `damaged_bytes` of steps that saves moved aside; `one` of the next
/// save.
RetentionFit fit_retention(const ckpt::RunScan& scan, const std::vector<std::uint64_t>& bytes,
                           std::uint64_t damaged_bytes, std::uint64_t one, std::uint64_t budget);

}  // namespace titan::recipe
