#pragma once
// Divides a model with equal layers into pipeline stages in the best way. Computes in integers, so that every rank and
// tool gets the same result. Pure. stage_rules.h applies the rules of a configuration.
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "recipe/plan/schedule_kind.h"

namespace titan::recipe {

/// The cost of the parts of a model, in any unit. The head is the final norm, the output and the loss.
struct PartCosts {
  std::uint64_t embedding = 0, layer = 1, head = 0;
  bool operator==(const PartCosts&) const = default;
};

/// A layer that must be on a certain stage of the model.
struct StagePin {
  std::uint32_t layer = 0, stage = 0;
  bool operator==(const StagePin&) const = default;
};

/// What is to be divided, and the limits of the division.
struct SplitProblem {
  static constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t ranks = 1, chunks = 1;  ///< `chunks` stages per rank
  Placement placement = Placement::kLoop;
  std::uint32_t layers = 0;
  PartCosts costs;  ///< a layer costs more than 0; the whole model costs less than 2^63
  std::uint32_t min_layers = 0,
                max_layers = kAny;          ///< per stage; a stage without embedding and head has at least one layer
  std::vector<std::uint32_t> most_of_rank;  ///< maximum number of layers per rank; empty: no limit
  std::vector<StagePin> pins;               ///< only with one stage per rank

  std::uint32_t stages() const { return ranks * chunks; }
};

/// The number of layers of each stage, in model order; nullopt if no split satisfies all limits. Minimises, in this
/// order: the largest cost of a rank; the sum of the squares of the ranks' costs; the same two for stages; then the
/// number of layers of the first rank, of the second, and so on, and likewise of the stages within a rank.
std::optional<std::vector<std::uint32_t>> split_layers(const SplitProblem& problem);

/// The stage cuts for these numbers of layers: the first group of stages 1, 2, ... Group 0 is the embedding, groups 1,
/// 2, ... are the layers, and the last group is the head.
std::vector<std::uint32_t> cuts_of_layers(const std::vector<std::uint32_t>& layers_of_stage);

/// Cost of each stage.
std::vector<std::uint64_t> stage_costs(const PartCosts& costs, const std::vector<std::uint32_t>& layers_of_stage);

}  // namespace titan::recipe
