#pragma once
// Generates crash states from a recording, and runs the next actor on each.
#include <functional>
#include <string>

#include "tests/crash/crash_point.h"
#include "tests/crash/oracle.h"

namespace titan::crash {

struct Violation {
  std::string scenario, actor;
  std::size_t point = 0;
  Choice choice;
  std::string problem;
  std::string lost;  ///< what the crash took, one line each
  /// For --replay: scenario:point:actor:choice.
  std::string replay() const;
};

struct Figures {
  std::uint64_t calls = 0;
  std::uint64_t states = 0;  ///< distinct by names and visible bytes
  std::uint64_t pairs = 0;   ///< states x actors
  std::uint64_t judged = 0;  ///< distinct parts of the disk that were judged after the actor
  std::uint64_t violations = 0;
};

struct Search {
  std::uint64_t states = 1000;  ///< maximum number
  std::uint64_t seed = 1;
  /// If not empty: only these crash points, each with its most important choices.
  std::vector<std::size_t> points;
  std::uint64_t stop_after = 20;  ///< violations
  std::function<void(const Violation&)> found;
};

Figures explore(const Scenario& scenario, const Recording& recording, const Search& search);

/// One actor on one state. Returns what is wrong; empty: nothing.
std::string try_state(const Scenario& scenario, const Recording& recording, std::size_t point, const Disk& state,
                      const Actor& actor);

}  // namespace titan::crash
