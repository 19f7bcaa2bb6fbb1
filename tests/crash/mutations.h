#pragma once
// Mutation test of the oracle: drops each sync, moves each rename before the preceding sync, grants each lock to
// everybody.
#include <string>
#include <vector>

#include "tests/crash/explore.h"

namespace titan::crash {

struct Mutation {
  std::string scenario;
  std::string what;  ///< "without sync file ...", "... before sync file ...", "lock ... granted to prune"
  bool found = false;
  std::string how;        ///< what the oracle said
  std::string redundant;  ///< why nothing can be lost; empty: something can, so the oracle must find it
};

/// Every sync and every rename of `scenario`, one left out or moved at a time.
std::vector<Mutation> mutate_calls(const Scenario& scenario, const Recording& recording);

/// Two concurrent processes: another actor acts at every call of a scenario, with all its locks and with one of them
/// missing.
struct LockCase {
  std::string scenario, actor;
  std::string lock;  ///< end of the path of the lock that is left out
};
const std::vector<LockCase>& lock_cases();
/// `violation`: what went wrong although every lock was there; empty: nothing.
Mutation mutate_lock(const LockCase& lock, std::string* violation);

}  // namespace titan::crash
