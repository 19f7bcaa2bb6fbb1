#pragma once
// With whom a rank exchanges gradients and weights, so that connections can be made before the first step.
#include <vector>

namespace titan::train {

/// Of one rank in its group; ranks are those of the group.
struct ExchangeWays {
  bool all_to_all = false;      ///< with all others at once
  std::vector<int> few = {};    ///< with these at once, who say the same of this rank
  std::vector<int> swaps = {};  ///< with one after the other, in the order in which all come to theirs
};

}  // namespace titan::train
