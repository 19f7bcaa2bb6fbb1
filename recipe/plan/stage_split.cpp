#include "recipe/plan/stage_split.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace titan::recipe {
namespace {

using Wide = unsigned __int128;  // squared costs need more than 64 bits

/// The best division of a given number of layers among the stages of one rank.
struct Load {
  std::uint64_t rank = 0;             ///< cost of the rank
  std::uint64_t stage = 0;            ///< cost of its most expensive stage
  Wide squares = 0;                   ///< sum over the squared costs of its stages
  std::vector<std::uint32_t> layers;  ///< number of layers of each of its stages, in model order
};

/// All loads of a rank: loads[n - least] has n layers.
struct Loads {
  std::uint32_t least = 0;
  std::vector<Load> loads;
};

std::uint64_t fixed_cost(const SplitProblem& problem, std::uint32_t stage) {
  return (stage == 0 ? problem.costs.embedding : 0) + (stage + 1 == problem.stages() ? problem.costs.head : 0);
}

std::uint32_t least_layers(const SplitProblem& problem, std::uint32_t stage) {
  const bool may_be_bare = stage == 0 || stage + 1 == problem.stages();
  return std::max(problem.min_layers, may_be_bare ? 0U : 1U);
}

/// Adds one layer at a time to the cheapest stage so far. Since layers cost the same, this is the best way for the
/// largest stage and for the squares. Among equal stages the last one gets it.
Loads loads_of_rank(const SplitProblem& problem, std::uint32_t rank) {
  std::vector<std::uint64_t> costs;
  Load load;
  std::uint64_t held = 0;
  for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) {
    const std::uint32_t stage = stage_of_chunk(problem.placement, problem.ranks, rank, chunk);
    load.layers.push_back(least_layers(problem, stage));
    costs.push_back(fixed_cost(problem, stage) + problem.costs.layer * load.layers.back());
    held += load.layers.back();
  }
  const std::uint64_t most =
      std::min(problem.layers, problem.most_of_rank.empty() ? SplitProblem::kAny : problem.most_of_rank[rank]);
  Loads all;
  if (held > most || std::ranges::any_of(load.layers, [&](std::uint32_t n) { return n > problem.max_layers; }))
    return all;
  all.least = static_cast<std::uint32_t>(held);
  for (;;) {
    load.rank = std::accumulate(costs.begin(), costs.end(), std::uint64_t{0});
    load.stage = *std::ranges::max_element(costs);
    load.squares = 0;
    for (const std::uint64_t cost : costs) load.squares += Wide{cost} * cost;
    all.loads.push_back(load);
    if (held++ == most) return all;
    std::optional<std::size_t> cheapest;
    for (std::size_t i = 0; i < costs.size(); ++i)
      if (load.layers[i] < problem.max_layers && (!cheapest || costs[i] <= costs[*cheapest])) cheapest = i;
    if (!cheapest) return all;
    ++load.layers[*cheapest];
    costs[*cheapest] += problem.costs.layer;
  }
}

/// Whether a stage may hold layers [first, end). Only called if a rank has one stage.
bool pins_allow(const SplitProblem& problem, std::uint32_t stage, std::uint32_t first, std::uint32_t end) {
  return std::ranges::all_of(problem.pins, [&](const StagePin& pin) {
    return (pin.stage == stage) == (pin.layer >= first && pin.layer < end);
  });
}

/// Best values of ranks r, r + 1, ... when the ranks before hold `used` layers: table[r][used]. The value of a load is
/// nullopt if it is not allowed; `join` combines a rank with those after it; a smaller value is better.
template <typename Value, typename Of, typename Join>
std::vector<std::vector<std::optional<Value>>> best_values(const SplitProblem& problem, const std::vector<Loads>& ranks,
                                                           const Of& value, const Join& join) {
  std::vector<std::vector<std::optional<Value>>> table(ranks.size() + 1,
                                                       std::vector<std::optional<Value>>(problem.layers + 1));
  table.back()[problem.layers] = Value{};
  for (std::size_t r = ranks.size(); r-- > 0;) {
    for (std::size_t i = 0; i < ranks[r].loads.size(); ++i) {
      const std::optional<Value> own = value(ranks[r].loads[i]);
      const std::uint32_t n = ranks[r].least + static_cast<std::uint32_t>(i);
      if (!own) continue;
      for (std::uint32_t used = 0; used + n <= problem.layers; ++used) {
        const std::optional<Value>& rest = table[r + 1][used + n];
        if (!rest || !pins_allow(problem, static_cast<std::uint32_t>(r), used, used + n)) continue;
        const Value all = join(*own, *rest);
        if (!table[r][used] || all < *table[r][used]) table[r][used] = all;
      }
    }
  }
  return table;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> split_layers(const SplitProblem& problem) {
  std::vector<Loads> ranks;
  for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) ranks.push_back(loads_of_rank(problem, rank));

  // The best value of a maximum does not imply the best division of the other ranks, so one pass over all criteria
  // would be wrong. Each largest cost is computed in a pass of its own and then used as a limit. The criteria that are
  // sums can share a pass.
  const auto bounds = best_values<std::uint64_t>(
      problem, ranks, [](const Load& load) { return std::optional(load.rank); },
      [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  if (!bounds[0][0]) return std::nullopt;
  const std::uint64_t rank_bound = *bounds[0][0];

  using Squares = std::pair<Wide, Wide>;
  const auto of_ranks = best_values<Squares>(
      problem, ranks,
      [&](const Load& load) {
        return load.rank > rank_bound ? std::nullopt : std::optional(Squares{Wide{load.rank} * load.rank, load.stage});
      },
      [](const Squares& a, const Squares& b) {
        return Squares{a.first + b.first, std::max(a.second, b.second)};
      });
  const Wide stage_bound = of_ranks[0][0]->second;

  const auto squares_of = [&](const Load& load) {
    return load.rank > rank_bound || load.stage > stage_bound
               ? std::nullopt
               : std::optional(Squares{Wide{load.rank} * load.rank, load.squares});
  };
  const auto sum = [](const Squares& a, const Squares& b) { return Squares{a.first + b.first, a.second + b.second}; };
  const auto best = best_values<Squares>(problem, ranks, squares_of, sum);

  std::vector<std::uint32_t> layers(problem.stages());
  std::uint32_t used = 0;
  for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) {
    for (std::size_t i = 0;; ++i) {
      const Load& load = ranks[rank].loads[i];
      const std::uint32_t end = used + ranks[rank].least + static_cast<std::uint32_t>(i);
      const std::optional<Squares> own = squares_of(load);
      if (!own || !best[rank + 1][end] || !pins_allow(problem, rank, used, end)) continue;
      if (sum(*own, *best[rank + 1][end]) != *best[rank][used]) continue;
      for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk)
        layers[stage_of_chunk(problem.placement, problem.ranks, rank, chunk)] = load.layers[chunk];
      used = end;
      break;
    }
  }
  return layers;
}

std::vector<std::uint32_t> cuts_of_layers(const std::vector<std::uint32_t>& layers_of_stage) {
  std::vector<std::uint32_t> cuts;
  std::uint32_t group = 1;
  for (std::size_t stage = 0; stage + 1 < layers_of_stage.size(); ++stage)
    cuts.push_back(group += layers_of_stage[stage]);
  return cuts;
}

std::vector<std::uint64_t> stage_costs(const PartCosts& costs, const std::vector<std::uint32_t>& layers_of_stage) {
  std::vector<std::uint64_t> sums;
  for (const std::uint32_t layers : layers_of_stage) sums.push_back(costs.layer * layers);
  sums.front() += costs.embedding;
  sums.back() += costs.head;
  return sums;
}

}  // namespace titan::recipe
