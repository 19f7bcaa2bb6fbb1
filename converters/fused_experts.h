#pragma once
// In transformers 5, the model in memory has all experts of a layer in two tensors. save_pretrained splits them; code
// that saves the state dict or the optimizer directly (DCP, verl, a trainer, safetensors by hand) does not.
// \source transformers 5.23, models/mixtral and models/qwen3_moe, class of the experts
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

/// One expert's projection within a tensor of all experts.
struct ExpertPart {
  std::string name;  ///< Hugging Face's name: "model.layers.0.mlp.experts.7.gate_proj.weight"
  RowBlocks blocks;  ///< its rows among the rows of all experts
  std::vector<std::uint64_t> shape;
  std::uint64_t first() const {
    return shape.empty() ? 0 : blocks.first * shape.back();
  }  ///< index of the part's first element in the tensor of all experts, row-major
};

/// The parts of the tensor `name` ("...experts.gate_up_proj" or "...experts.down_proj") of `shape`: [experts, rows,
/// columns], gates before ups. Empty for other names and shapes, and beyond 4,096 experts.
std::vector<ExpertPart> expert_parts(std::string_view name, const std::vector<std::uint64_t>& shape);

/// The names of the two tensors of a layer: of gates and ups, and of downs.
std::array<std::string, 2> fused_experts(std::uint64_t layer);

/// The name of the first expert part of the tensor `name`; `name` itself for other tensors.
std::string first_expert(const std::string& name);
/// The note that the tensors `names` of a file were split into experts.
std::string taken_apart(const std::vector<std::string>& names);

}  // namespace titan::convert
