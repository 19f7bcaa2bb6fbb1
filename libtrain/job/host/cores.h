#pragma once
// Number of cores that this process may use, by CPU affinity and cgroup.
#include <cstdint>
#include <optional>
#include <string>

namespace titan::train {

/// The number of cores in this process's affinity, or fewer if a cgroup quota is lower; at least 1.
int allowed_cores();

/// The cores of several ranks on one host.
struct CoreShare {
  int cores = 1;
  bool each = false;  ///< true: each rank has `cores` cores of its own; false: the ranks share them
};
/// The cores of `local_ranks` ranks. This process is one of these ranks, or starts them. Ranks that a batch system has
/// bound one by one have another affinity than their parent.
CoreShare core_share(int local_ranks);

/// The whole cores of a quota in cgroup v2's cpu.max ("max 100000", "150000 100000"); nullopt if there is no quota.
std::optional<int> cores_of_quota(const std::string& cpu_max);

/// A warning if the ranks of this host have more threads than cores; else empty.
std::string too_many_threads(int local_ranks, int threads, CoreShare share);

/// Lowers the priority of this thread and of threads that it will start, so that threads that compute get the cores
/// first.
void yield_cores_to_computing();

}  // namespace titan::train
