#pragma once
// Where in a tensor's memory a leaf lies.
#include <span>
#include <string>

#include "ckpt/model/tensor_meta.h"
#include "libtrain/optim/adamw.h"

namespace titan::train {

/// The bytes of leaf `leaf` of the parameter (`slot` empty) or of a moment of it; the rank owns the leaf.
std::span<const std::byte> leaf_bytes(const ShardedAdamW::State& state, const std::string& slot,
                                      const ckpt::LeafGrid& grid, std::uint64_t leaf);

}  // namespace titan::train
