#pragma once
// How many cores this process may use, by its affinity and its control group.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace titan::train {

/// Cores of this process's affinity, or fewer where a control group gives it less processor time; at least 1.
int allowed_cores();

/// What several ranks of one host have for themselves.
struct CoreShare {
  int cores = 1;
  bool each = false;  ///< every rank has so many of its own; else they share them
};
/// The cores of `local_ranks` ranks, of which this process is one or starts them. Ranks that a batch system has bound
/// one by one have another affinity than their parent.
CoreShare core_share(int local_ranks);

/// The whole cores of a quota as cgroup v2's cpu.max ("max 100000", "150000 100000") tells it; nothing where there is
/// none.
std::optional<int> cores_of_quota(const std::string& cpu_max);

/// What to say of a start whose threads outnumber its cores; empty where they do not.
std::string too_many_threads(int local_ranks, int threads, CoreShare share);

}  // namespace titan::train
