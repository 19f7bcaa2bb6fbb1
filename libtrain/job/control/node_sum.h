#pragma once
// Sums values of ranks on several nodes: within each node first, then from node to node as a tree, and back the same
// way. A ring over all ranks would take two hops per rank.
#include <cstdint>
#include <span>

#include "libtrain/job/control/control.h"

namespace titan::train {

/// Control::sum() of values of which at most one rank's is not zero. Each `node_ranks` neighbouring ranks are on one
/// node. It is a single sum over all ranks if `node_ranks` is 0, 1 or all ranks, or does not divide their number.
/// Collective. \error throws CommError
void sum_over_nodes(Control& all, std::span<double> values, std::uint32_t node_ranks);

}  // namespace titan::train
