#pragma once
// The tensors of a Megatron checkpoint: one for each layer, also where the file has all layers in one, and what each is
// in Hugging Face's names.
#include <string>
#include <string_view>
#include <vector>

#include "converters/dcp/reader.h"
#include "converters/format.h"
#include "recipe/model/dims.h"

namespace titan::convert::megatron {

/// How the names begin of buffers of a distributed optimizer, which belong to numbers of ranks.
inline constexpr std::string_view kBuckets = "optimizer.distributed.";

/// One tensor as users see it, and where it lies.
struct LayerTensor {
  ForeignTensor tensor;  ///< "decoder.layers.0.mlp.linear_fc2.weight", "optimizer.state.exp_avg.decoder. ..."
  const dcp::TensorEntry* entry = nullptr;
  std::uint64_t first = 0;  ///< element of the entry
};

/// All tensors of `reader`, by name; without states of layers of Transformer Engine and buffers of an optimizer that
/// are no tensors of the model's. \error kUnsupported: an element type that we lack; kCorrupt
Result<std::vector<LayerTensor>> list_tensors(const dcp::DcpReader& reader);

/// The slot of float32 masters.
inline constexpr std::string_view kMasterSlot = "param";

/// What stands before a tensor of the optimizer: "exp_avg", "exp_avg_sq", or "param" for its float32 masters; "" for
/// the model's.
struct StateName {
  std::string_view slot, name;
};
StateName split_state(std::string_view name);

/// One of Hugging Face's parameters within a tensor of Megatron's.
struct Part {
  std::string name;
  std::vector<std::uint64_t> shape;
  RowBlocks blocks;
};
/// The parts of a tensor of the model, of this name and shape; none for names of other models. Projections are fused:
/// for each group of heads its queries, its key, its value; gates before ups. `path` names the checkpoint.
/// \error kIncompatible: `model` makes other rows
/// \source megatron-core 0.16.1, transformer/attention.py and mlp.py
Result<std::vector<Part>> parts_of(const std::string& path, const std::string& name,
                                   const std::vector<std::uint64_t>& shape, const recipe::ModelDims& model);

}  // namespace titan::convert::megatron
