#pragma once
// Does the oracle notice what is left out? Each sync dropped, each rename before the sync that it follows, each lock
// granted to all.
#include <string>
#include <vector>

#include "tests/crash/explore.h"

namespace titan::crash {

struct Mutation {
  std::string scenario;
  std::string what;  ///< "without sync file ...", "... before sync file ...", "lock ... granted to prune"
  bool found = false;
  std::string how;        ///< what the oracle said
  std::string redundant;  ///< why nothing can be lost; empty: something can, so it has to be found
};

/// Every sync and every rename of `scenario`, one left out or moved at a time.
std::vector<Mutation> mutate_calls(const Scenario& scenario, const Recording& recording);

/// Two processes at once: another actor acts at every call of a scenario, with its locks and without one of them.
struct LockCase {
  std::string scenario, actor;
  std::string lock;  ///< end of the path of the lock that is left out
};
const std::vector<LockCase>& lock_cases();
/// `violation`: what went wrong although every lock was there; empty: nothing.
Mutation mutate_lock(const LockCase& lock, std::string* violation);

}  // namespace titan::crash
