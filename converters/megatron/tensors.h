#pragma once
// The tensors of a Megatron checkpoint, one per layer (even if the file stores all layers in one tensor), and their
// Hugging Face names.
#include <string>
#include <string_view>
#include <vector>

#include "converters/dcp/reader.h"
#include "converters/format.h"
#include "recipe/model/dims.h"

namespace titan::convert::megatron {

/// Prefix of the buffers of a distributed optimizer, whose layout depends on the number of ranks.
inline constexpr std::string_view kBuckets = "optimizer.distributed.";

/// One tensor as users see it, and where it is stored.
struct LayerTensor {
  ForeignTensor tensor;  ///< "decoder.layers.0.mlp.linear_fc2.weight", "optimizer.state.exp_avg.decoder. ..."
  const dcp::TensorEntry* entry = nullptr;
  std::uint64_t first = 0;  ///< first element within the entry
};

/// All tensors of `reader`, by name; without random states, Transformer Engine's layer states and optimizer buffers
/// that do not belong to a tensor of the model. \error kUnsupported: an element type that Titan does not have, or more
/// than 250,000 tensors
Result<std::vector<LayerTensor>> list_tensors(const dcp::DcpReader& reader);

/// The slot name of fp32 master weights.
inline constexpr std::string_view kMasterSlot = "param";

/// A tensor name divided into the slot ("exp_avg", "exp_avg_sq", or "param" for float32 masters; "" for tensors of the
/// model) and the name of the parameter.
struct StateName {
  std::string_view slot, name;
};
/// Divides `name` into slot and parameter.
StateName split_state(std::string_view name);

/// One of Hugging Face's parameters within a Megatron tensor.
struct Part {
  std::string name;
  std::vector<std::uint64_t> shape;
  RowBlocks blocks;
};
/// The parts of the model tensor `name` of `shape`; empty for a name that is not one of the model's. A fused QKV
/// projection has, for each group of heads, the rows of its queries, key and value. A fused feed-forward projection has
/// gates before ups. `path` names the checkpoint. \error kIncompatible: `model` has another number of rows \source
/// megatron-core 0.16.1, transformer/attention.py and mlp.py
Result<std::vector<Part>> parts_of(const std::string& path, const std::string& name,
                                   const std::vector<std::uint64_t>& shape, const recipe::ModelDims& model);

}  // namespace titan::convert::megatron
