#pragma once
// The best cut of a model of alike layers into pipeline stages: exact, in whole numbers, so that every rank and every
// tool gets the same answer. Pure. Which rules a configuration sets: stage_rules.h.
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "recipe/plan/schedule_kind.h"

namespace titan::recipe {

/// What the parts of a model cost, in any unit. The head is the final norm, the output and the loss.
struct PartCosts {
  std::uint64_t embedding = 0, layer = 1, head = 0;
  bool operator==(const PartCosts&) const = default;
};

/// A layer that must be on a stage of the model.
struct StagePin {
  std::uint32_t layer = 0, stage = 0;
  bool operator==(const StagePin&) const = default;
};

struct SplitProblem {
  static constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t ranks = 1, chunks = 1;  ///< `chunks` stages on each rank
  Placement placement = Placement::kLoop;
  std::uint32_t layers = 0;
  PartCosts costs;  ///< a layer costs something; the whole model less than 2^63
  std::uint32_t min_layers = 0,
                max_layers = kAny;          ///< of each stage; a stage without embedding and head has one at least
  std::vector<std::uint32_t> most_of_rank;  ///< layers that fit on each rank; empty: any number
  std::vector<StagePin> pins;               ///< with one stage a rank only

  std::uint32_t stages() const { return ranks * chunks; }
};

/// Layers of each stage, in model order; nothing where no split keeps to all limits. Minimises, in this order: the cost
/// of the rank that costs most; the sum of the squares of the ranks' costs; the same two of the stages; then ranks, and
/// stages within a rank, have the fewest layers in order, first to last.
std::optional<std::vector<std::uint32_t>> split_layers(const SplitProblem& problem);

/// First group (0 embedding, 1.. layers, last head) of stages 1.., for the layers of each stage.
std::vector<std::uint32_t> cuts_of_layers(const std::vector<std::uint32_t>& layers_of_stage);

/// Cost of each stage.
std::vector<std::uint64_t> stage_costs(const PartCosts& costs, const std::vector<std::uint32_t>& layers_of_stage);

}  // namespace titan::recipe
