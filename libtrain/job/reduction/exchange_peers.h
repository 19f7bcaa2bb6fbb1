#pragma once
// The ranks with which a rank exchanges gradients and weights, so that connections can be made before the first step.
#include <vector>

namespace titan::train {

/// The transfers of one rank within a communication group (a Fabric). Rank numbers are those in this group.
struct ExchangePeers {
  bool all_to_all = false;      ///< an all-to-all with all other ranks
  std::vector<int> few = {};    ///< partners in an all-to-all among some ranks; each partner lists this rank, too
  std::vector<int> swaps = {};  ///< ranks to swap with, one after the other, in the order in which all ranks swap
};

}  // namespace titan::train
