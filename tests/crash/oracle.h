#pragma once
// What must hold after a crash and the next actor.
#include <string>
#include <unordered_map>

#include "tests/crash/scenario.h"

namespace titan::crash {

/// What users were told before the crash.
struct Promises {
  std::uint64_t newest = 0;  ///< a resume takes this step or a newer one; 0: no step was saved
  bool dst = false;          ///< the destination outside of the run is there
};
Promises promises_at(const Scenario& scenario, const std::vector<LoggedCall>& log, std::size_t point);

/// Judges states of one scenario. The run, and a destination outside of it, are judged once per distinct content.
class Oracle {
 public:
  /// The scenario began on `before` and ends, without a crash, on `after`; both must outlive the oracle.
  Oracle(const Scenario& scenario, const Disk& before, const Disk& after)
      : scenario_(scenario), before_(before), after_(after) {}
  /// Judges the disk and then continues with it: the tool again, a run's start, its next save with retention. Returns
  /// the first broken promise in words; empty if all hold.
  std::string judge(const Promises& promises, const Disk& disk);
  std::uint64_t judged() const { return judged_.size(); }

 private:
  const Scenario& scenario_;
  const Disk &before_, &after_;
  std::unordered_map<std::uint64_t, std::string> judged_;
};

}  // namespace titan::crash
