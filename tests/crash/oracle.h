#pragma once
// What must hold after a crash and the next actor.
#include <string>
#include <unordered_map>

#include "tests/crash/scenario.h"

namespace titan::crash {

/// What users had been told before the crash.
struct Promises {
  std::uint64_t newest = 0;  ///< a resume takes this step or a newer one; 0: no step was ever saved
  bool dst = false;          ///< the destination outside of the run is there
};
Promises promises_at(const Scenario& scenario, const std::vector<LoggedCall>& log, std::size_t point);

/// Judges states of one scenario. What lies in the run, and what lies at a destination outside of it, is judged once
/// for equal bytes.
class Oracle {
 public:
  /// The scenario began on `before` and ends, without a crash, on `after`; both must outlive the oracle.
  Oracle(const Scenario& scenario, const Disk& before, const Disk& after)
      : scenario_(scenario), before_(before), after_(after) {}
  /// Looks at what is there, then goes on with it: the tool again, a run's start, its next save with retention.
  /// Returns the first broken promise in words; empty when all hold.
  std::string judge(const Promises& promises, const Disk& disk);
  std::uint64_t judged() const { return judged_.size(); }

 private:
  const Scenario& scenario_;
  const Disk &before_, &after_;
  std::unordered_map<std::uint64_t, std::string> judged_;
};

}  // namespace titan::crash
