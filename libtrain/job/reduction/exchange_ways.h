#pragma once
// The ranks with which a rank exchanges gradients and weights, so that connections can be made before the first step.
#include <vector>

namespace titan::train {

/// The transfers of one rank in its group. Rank numbers are those in the group.
struct ExchangeWays {
  bool all_to_all = false;      ///< an all-to-all with all other ranks
  std::vector<int> few = {};    ///< ranks of an all-to-all among a few; each has the others in its list
  std::vector<int> swaps = {};  ///< ranks to swap with, one after the other, in the order in which all ranks swap
};

}  // namespace titan::train
