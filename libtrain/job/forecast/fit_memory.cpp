#include "libtrain/job/forecast/fit_memory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ckpt/base/integers.h"
#include "ckpt/base/size_text.h"
#include "libtrain/job/forecast/forecast.h"
#include "libtrain/job/forecast/memory.h"
#include "recipe/plan/run_plan.h"
#include "recipe/plan/stage_rules.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kKey = "parallelism.memory_limit";
constexpr std::uint64_t kMiB = 1 << 20;

/// Memory of each rank by its number of layers.
class Needs {
 public:
  Needs(const recipe::RunPlan& plan, RankWork work) : plan_(plan), work_(std::move(work)) {}

  std::uint64_t bytes(std::uint32_t rank, std::uint32_t layers) {
    const auto [at, is_new] = known_.try_emplace({rank, layers}, 0);
    if (is_new) at->second = need(with_layers(rank, layers), rank);
    return at->second;
  }
  std::uint64_t of_plan(std::uint32_t rank) { return need(plan_, rank); }

  /// Number of layers that fit on each rank; 0 also if its other parts alone do not fit.
  std::vector<std::uint32_t> most_layers(std::uint64_t limit) {
    std::vector<std::uint32_t> most;
    for (std::uint32_t rank = 0; rank < plan_.mesh.pp; ++rank) {
      std::uint32_t low = 0, high = static_cast<std::uint32_t>(plan_.dims.n_layers);
      while (low < high) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (bytes(rank, middle) <= limit) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      most.push_back(low);
    }
    return most;
  }
  /// The rank whose embedding or head alone is too large, if there is one.
  std::optional<std::uint32_t> rank_without_room(std::uint64_t limit) {
    for (std::uint32_t rank = 0; rank < plan_.mesh.pp; ++rank)
      if (bytes(rank, 0) > limit) return rank;
    return std::nullopt;
  }

 private:
  std::uint64_t need(const recipe::RunPlan& plan, std::uint32_t rank) const {
    return rank_memory(plan, rank, work_.row(rank), work_.in_flight[rank]).total();
  }
  /// The plan with this many layers on the rank, and the others elsewhere.
  recipe::RunPlan with_layers(std::uint32_t rank, std::uint32_t layers) const {
    recipe::RunPlan plan = plan_;
    std::vector<std::uint32_t> of_stage(plan.stage_count(), 0);
    of_stage[plan.stage_of_chunk(rank, 0)] = layers;
    of_stage[plan.stage_of_chunk(rank + 1 == plan.mesh.pp ? 0 : rank + 1, 0)] +=
        static_cast<std::uint32_t>(plan.dims.n_layers) - layers;
    (void)recipe::set_stages(of_stage, plan);
    return plan;
  }

  const recipe::RunPlan& plan_;
  RankWork work_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> known_;
};

std::optional<std::uint32_t> rank_above(Needs& needs, const recipe::RunPlan& plan, std::uint64_t limit) {
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank)
    if (needs.of_plan(rank) > limit) return rank;
  return std::nullopt;
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(ckpt::ceil_div(bytes, kMiB)) + "MiB"; }

/// Adds settings that would work. `least`: the lowest limit that works.
Status with_way_out(Status status, std::uint64_t least) {
  return status.with_hint("set --" + std::string(kKey) + "=" + in_mib(least) +
                          ", the least that suffices on these ranks, or --activation_checkpoint.mode=full, a smaller "
                          "micro-batch, or more ranks");
}

}  // namespace

Status fit_memory(const recipe::Config& config, std::int64_t stored_global_batch, recipe::RunPlan& plan) {
  if (!config.parallelism.memory_limit) return ckpt::ok_status();
  const std::string& word = *config.parallelism.memory_limit;
  const auto limit = ckpt::parse_bytes(word);
  if (!limit) return ckpt::invalid(std::string(kKey) + ": expected a size such as \"24GiB\", found \"" + word + "\"");
  TITAN_ASSIGN_OR_RETURN(const RankWork work, rank_work(plan));
  const recipe::RunPlan best = plan;
  Needs needs(best, work);
  const auto above = rank_above(needs, plan, *limit);
  if (!above) return ckpt::ok_status();
  if (plan.mesh.pp == 1)
    return with_way_out(ckpt::invalid(std::string(kKey) + " " + word + ": a rank needs about " +
                                      ckpt::size_text(needs.of_plan(0)) + ", and one pipeline stage cannot be cut"),
                        needs.of_plan(0));

  const auto cut = [&](std::uint64_t bytes) -> Result<recipe::RunPlan> {
    if (const auto rank = needs.rank_without_room(bytes))
      return ckpt::invalid(std::string(kKey) + " " + word + ": pipeline rank " + std::to_string(*rank) +
                           " needs about " + ckpt::size_text(needs.bytes(*rank, 0)) + " without any layer");
    std::vector<std::uint32_t> most = needs.most_layers(bytes);
    // Which layers are recomputed depends on the cut, so a new cut is checked again.
    for (;;) {
      auto made = recipe::make_run_plan(config, plan.mesh.world(), stored_global_batch, most);
      if (!made.ok()) return made;
      made->node_ranks = plan.node_ranks;
      Needs of_cut(*made, work);
      const auto rank = rank_above(of_cut, *made, bytes);
      if (!rank) return made;
      if (most[*rank] == 0) return ckpt::invalid(std::string(kKey) + " " + word + ": no cut fits");
      --most[*rank];
    }
  };
  auto fitting = cut(*limit);
  if (fitting.ok()) {
    fitting->schedule_file = plan.schedule_file;
    plan = std::move(*fitting);
    return ckpt::ok_status();
  }
  // The plan fits into the memory of its largest rank.
  std::uint64_t low = *limit / kMiB, high = 0;
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank) high = std::max(high, needs.of_plan(rank) / kMiB + 1);
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (cut(middle * kMiB).ok()) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return with_way_out(fitting.status(), high * kMiB);
}

}  // namespace titan::train
