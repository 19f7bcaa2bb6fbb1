#pragma once
// Which ranks share a host.
#include <string>
#include <vector>

#include "libtrain/job/control/control.h"

namespace titan::train {

/// A host name for each rank, by rank. Collective. Ranks with equal names share one kernel and see each other's files
/// at once.
std::vector<std::string> hosts_of_ranks(Control& all);

}  // namespace titan::train
