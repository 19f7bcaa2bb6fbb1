#pragma once

namespace titan::train {

/// What a group of tensors is for.
enum class FabricUse {
  kPipeline,  ///< transfers between neighbours of a pipeline, which is a ring, and between its ends
  kExchange,  ///< sums and copies among ranks of one stage: all-to-all, among all or few, and swaps
};

}  // namespace titan::train
