#pragma once
// Values of all ranks added up where ranks lie on several nodes: within each node first, then from node to node as a
// tree, and back the same way. A ring over all ranks takes two hops for each of them.
#include <cstdint>
#include <span>

#include "libtrain/job/talk/control.h"

namespace titan::train {

/// Control::sum() of values of which at most one rank's is not zero. Each `node_ranks` neighbours are on one node;
/// where they are all, or do not divide them, it is one sum over all (also for 0 and 1). Collective. \error throws
/// CommError
void sum_over_nodes(Control& all, std::span<double> values, std::uint32_t node_ranks);

}  // namespace titan::train
