#include "recipe/history/retention_fit.h"

namespace titan::recipe {

RetentionFit fit_retention(const ckpt::RunScan& scan, const std::vector<std::uint64_t>& bytes,
                           std::uint64_t damaged_bytes, std::uint64_t one, std::uint64_t budget) {
  RetentionFit fit;
  fit.fixed_bytes = damaged_bytes;
  bool newest = true;
  const std::vector<ckpt::PruneVerdict> strictest = ckpt::plan_prune(scan, {.keep_last = 1});
  for (std::size_t i = 0; i < strictest.size(); ++i) {
    const ckpt::StepEntry& entry = scan.steps[i];
    const bool ordinary = entry.validity.ok() && entry.full && !entry.pinned && entry.step != 0;
    if (!strictest[i].goes && !(ordinary && newest)) fit.fixed_bytes += bytes[i];
    if (entry.validity.ok() && entry.full) newest = false;
  }
  // While a step is written, all kept steps still exist.
  fit.least_budget = fit.fixed_bytes + 2 * one;
  if (one == 0 || budget < fit.least_budget) return fit;
  fit.keep_last = (budget - fit.fixed_bytes) / one - 1;
  fit.most_bytes = fit.fixed_bytes + (fit.keep_last + 1) * one;
  const std::vector<ckpt::PruneVerdict> verdicts = ckpt::plan_prune(scan, {.keep_last = fit.keep_last});
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].goes) continue;
    ++fit.steps_to_delete;
    fit.bytes_to_delete += bytes[i];
  }
  return fit;
}

}  // namespace titan::recipe
