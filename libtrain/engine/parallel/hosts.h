#pragma once
// Finds out which ranks share a host.
#include <string>
#include <vector>

#include "libtrain/job/control/control.h"

namespace titan::train {

/// An id of each rank's host, by rank. Ranks with equal ids run on one operating system under one host name, so each
/// sees files of the others at once. Collective. \error CommError
std::vector<std::string> hosts_of_ranks(Control& all);

}  // namespace titan::train
