#pragma once
// Pipeline stages over layers. Pure integer arithmetic, so that every rank and every tool gets the same answer.
// Leaves over the ranks of a stage: ownership.h.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

/// Cuts `costs` (atomic groups in model order: embedding, each layer, head) into `stages` non-empty contiguous
/// stages; minimises lexicographically (largest stage cost, sum of squared stage costs, cut vector).
/// Returns the first group of stages 1.. (size stages-1). \error kInvalid when groups < stages.
Result<std::vector<std::uint32_t>> partition_stages(const std::vector<std::uint64_t>& costs, std::uint32_t stages);

/// The groups of a Llama-style parameter list, from names alone: "tok_embeddings.*", "layers.<i>.*", the rest
/// (norm, output) = head.
struct ModelGroups {
  std::vector<std::uint64_t>
      costs;  ///< per group: multiply-accumulates per token of its weight matrices; embedding 0; a tied head costs V*h
  std::vector<std::uint32_t> group_of;  ///< per parameter
  std::uint32_t layers = 0;
};
/// \error kInvalid when a name does not belong to any group or layers are not 0..L-1.
Result<ModelGroups> group_parameters(const std::vector<ParameterMeta>& parameters);

/// Sets ParameterMeta::stage for `pp` stages by the exact partition. \error kInvalid with the largest feasible pp.
Status assign_stages(std::vector<ParameterMeta>& parameters, std::uint32_t pp);

}  // namespace titan::ckpt
