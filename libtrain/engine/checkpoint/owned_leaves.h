#pragma once
// Where in a tensor a leaf lies.
#include <string>

#include "ckpt/model/tensor_meta.h"
#include "libtrain/engine/optim/adamw.h"

namespace titan::train {

/// The values of leaf `leaf` of the parameter (`slot` empty) or of a moment of it; the rank owns the leaf.
at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf);

}  // namespace titan::train
