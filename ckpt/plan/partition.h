#pragma once
// Divides layers into pipeline stages for a reshard (a training run uses recipe/plan/stage_split.h). Pure integer
// arithmetic, so that every tool gets the same stages. ownership.h divides leaves among the ranks of a stage.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Cuts `costs` (indivisible groups in model order: embedding, each layer, head) into `stages` contiguous stages, none
/// empty. Minimises the largest stage cost, then the sum of squared stage costs, then the cut vector. Returns the first
/// group of stages 1, 2, ... (size stages - 1). \error kInvalid when there are fewer groups than stages
Result<std::vector<std::uint32_t>> partition_stages(const std::vector<std::uint64_t>& costs, std::uint32_t stages);

/// The groups of a Llama-style parameter list, by names alone: "tok_embeddings.*", "layers.<i>.*", and all others
/// (norm, output) = head.
struct ModelGroups {
  std::vector<std::uint64_t>
      costs;  ///< per group: multiply-accumulates per token of its weight matrices; embedding 0; a tied head costs V*h
  std::vector<std::uint32_t> group_of;  ///< per parameter
  std::uint32_t layers = 0;
};
/// Groups `parameters`. \error kInvalid when a name belongs to no group, or the layers are not 0..L-1
Result<ModelGroups> group_parameters(const std::vector<ParameterMeta>& parameters);

/// Sets ParameterMeta::stage for `pp` stages by partition_stages(). \error kInvalid with the largest possible pp
Status assign_stages(std::vector<ParameterMeta>& parameters, std::uint32_t pp);

}  // namespace titan::ckpt
