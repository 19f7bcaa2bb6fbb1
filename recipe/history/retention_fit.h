#pragma once
// How many steps fit into a budget of disk space, by the rules of `prune`. Pure.
#include <cstdint>
#include <vector>

#include "ckpt/ops/prune.h"

namespace titan::recipe {

/// What fits into the budget.
struct RetentionFit {
  std::uint64_t keep_last = 0;     ///< the most steps that can be kept; 0: not even one step plus the next save fits
  std::uint64_t fixed_bytes = 0;   ///< bytes that no rule deletes: pinned, partial, invalid, damaged steps, step 0
  std::uint64_t most_bytes = 0;    ///< peak bytes on disk: all that is kept, plus the save that is being written
  std::uint64_t least_budget = 0;  ///< bytes needed: fixed_bytes, one kept step and the next save
  std::uint64_t steps_to_delete = 0, bytes_to_delete = 0;  ///< what `prune --keep-last` would delete now
};

/// Computes the fit, with sizes in bytes:
/// `bytes`          size of each step of `scan`, in the order of `scan`
/// `damaged_bytes`  size of the damaged steps that saves moved aside
/// `one`            size of the next save
RetentionFit fit_retention(const ckpt::RunScan& scan, const std::vector<std::uint64_t>& bytes,
                           std::uint64_t damaged_bytes, std::uint64_t one, std::uint64_t budget);

}  // namespace titan::recipe
