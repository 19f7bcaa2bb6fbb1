#pragma once
// Divides layers into pipeline stages for a reshard (a training run uses recipe/plan/stage_split.h). Pure integer
// arithmetic, so that every tool gets the same stages. ownership.h divides leaves among the ranks of a stage.
#include <cstdint>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Cuts `costs` (one per group, in model order: embedding, each layer, head) into `stages` contiguous, non-empty
/// stages. Minimises the largest stage cost, then the sum of squared stage costs, then the cuts in lexicographic order.
/// Returns the first group of stages 1, 2, ... (size stages - 1). \error kInvalid: 0 stages, fewer groups than stages
/// (the hint has the largest possible number), or costs whose sum needs more than 64 bits
Result<std::vector<std::uint32_t>> partition_stages(const std::vector<std::uint64_t>& costs, std::uint32_t stages);

/// The groups of a Llama-style parameter list, found by name: "tok_embeddings.*", "layers.<i>.*", and the head
/// ("norm.*", "output.*").
struct ModelGroups {
  std::vector<std::uint64_t> costs;     ///< per group: elements of its weight matrices (without experts, this is the
                                        ///< number of multiply-accumulates per token); embedding 0; a tied head:
                                        ///< vocabulary size x model dimension
  std::vector<std::uint32_t> group_of;  ///< per parameter
  std::uint32_t layers = 0;
};
/// Groups `parameters`. \error kInvalid: a name that belongs to no group, layers that are not numbered 0..L-1, or sizes
/// that overflow
Result<ModelGroups> group_parameters(const std::vector<ParameterMeta>& parameters);

/// Sets ParameterMeta::stage for `pp` stages by partition_stages(); for one stage, without looking at names. \error
/// kInvalid: as group_parameters() and partition_stages(), or a stage would hold no parameter
Status assign_stages(std::vector<ParameterMeta>& parameters, std::uint32_t pp);

}  // namespace titan::ckpt
