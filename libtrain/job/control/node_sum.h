#pragma once
// Sums values of ranks on several machines (nodes): first within each machine, then between the machines along a
// binomial tree; the sum goes back the same way. A ring over R ranks would take about 2 R hops.
#include <cstdint>
#include <span>

#include "libtrain/job/control/control.h"

namespace titan::train {

/// Adds the ranks' values of each element. The bits depend on the order of additions unless at most one rank's value is
/// nonzero, or all partial sums are exact, as those of small integers. Every `node_ranks` consecutive ranks are on one
/// machine. If `node_ranks` is 0, 1 or the number of all ranks, or does not divide that number, this is one
/// Control::sum() over all ranks. Collective. \error throws CommError
void sum_over_nodes(Control& all, std::span<double> values, std::uint32_t node_ranks);

}  // namespace titan::train
