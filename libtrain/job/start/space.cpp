#include "libtrain/job/start/space.h"

#include <algorithm>
#include <cerrno>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/size_text.h"
#include "ckpt/run/open_run.h"
#include "ckpt/run/run_folder.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

std::string folder_of(const recipe::Config& config) {
  return ckpt::join_path(config.job.dump_folder, config.checkpoint.folder);
}

std::uint64_t tree_bytes(ckpt::Fs& fs, const std::string& path) {
  const auto info = fs.stat(path);
  if (!info.ok()) return 0;
  if (info->type != ckpt::FileType::kDirectory) return info->links > 1 ? 0 : info->allocated;
  std::uint64_t bytes = 0;
  const auto entries = fs.list(path);
  if (!entries.ok()) return 0;
  for (const ckpt::DirEntry& entry : *entries) bytes += tree_bytes(fs, ckpt::join_path(path, entry.name));
  return bytes;
}

std::uint64_t leftover_bytes(ckpt::Fs& fs, const std::string& folder) {
  std::uint64_t bytes = 0;
  const auto entries = fs.list(folder);
  if (!entries.ok()) return 0;
  for (const ckpt::DirEntry& entry : *entries)
    if (ckpt::is_leftover(entry)) bytes += tree_bytes(fs, ckpt::join_path(folder, entry.name));
  return bytes;
}

/// How many checkpoints the run keeps, and why.
std::string what(const SpaceNeed& need) {
  const std::string count = std::to_string(need.saves.peak_count);
  if (need.saves.peak_count == 1) return "a checkpoint";
  if (need.saves.kept == 0) return "the " + count + " checkpoints that this run saves and keeps";
  return "the " + count +
         " checkpoints that this run adds at most (checkpoint.keep_latest_k = " + std::to_string(need.saves.kept) +
         ", and the one being saved)";
}

}  // namespace

SpaceVerdict judge_space(const SpaceNeed& need, std::uint64_t free, const std::string& folder) {
  SpaceVerdict verdict;
  const std::uint64_t count = need.saves.peak_count, all = need.saves.disk_bytes(), one = need.saves.one_save;
  if (free >= all) return verdict;
  const std::uint64_t fit = free < one ? 0 : (free - one) / std::max<std::uint64_t>(1, need.saves.each()) + 1;
  std::string text = "not enough space for " + what(need) + " in " + folder + ": " +
                     (count == 1 ? "it needs" : "they need") + " about " + ckpt::size_text(all) + ", " +
                     ckpt::size_text(free) + " are free";
  text += fit == 0 ? "; the first save would fail" : "; save " + std::to_string(fit + 1) + " of this run would fail";
  // A user who keeps everything may delete by hand, and compressed sizes are not known: these may still fit.
  const bool may_fit = fit > 0 && (need.saves.kept == 0 || need.compressed);
  if (may_fit) {
    verdict.warning = std::move(text);
    return verdict;
  }
  Status full = ckpt::failed(std::move(text));
  full.error = ENOSPC;
  std::string hint = "free some space, or choose a job.dump_folder on another disk";
  if (fit + need.steps_there > 1 && fit > 0)
    hint += "; --checkpoint.keep_latest_k=" + std::to_string(fit + need.steps_there - 1) + " would fit";
  verdict.refused = full.with_hint(std::move(hint));
  return verdict;
}

std::uint64_t count_kept_steps(ckpt::Fs& fs, const recipe::Config& config) {
  const auto scan = ckpt::list_steps(fs, folder_of(config));
  if (!scan.ok()) return 0;
  return static_cast<std::uint64_t>(std::ranges::count_if(scan->steps, [&](const ckpt::StepEntry& entry) {
    return entry.step != 0 && !entry.linked && !ckpt::is_pinned(fs, entry.path);
  }));
}

SpaceVerdict look_at_space(ckpt::Fs& fs, const recipe::Config& config, const recipe::RunPlan& plan,
                           std::uint64_t start_step) {
  const std::string folder = folder_of(config);
  const auto free = fs.free_bytes(ckpt::nearest_there(fs, folder));
  if (!free.ok()) return {};  // the store does not say how much space is free
  SpaceNeed need;
  need.steps_there = count_kept_steps(fs, config);
  need.saves = forecast_saves(config, plan, start_step, need.steps_there);
  need.compressed = plan.codec == ckpt::Codec::kZstd;
  return judge_space(need, *free + leftover_bytes(fs, folder), folder);
}

}  // namespace titan::train
