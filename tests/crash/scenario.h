#pragma once
// What happens before, during and after a crash.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/crash/world.h"

namespace titan::crash {

struct Scenario {
  std::string name;
  FsLimits limits;
  std::function<ckpt::Status(CrashFs&)> prepare;  ///< initial content, all durable
  std::function<ckpt::Status(CrashFs&)> act;      ///< recorded; marks what it announces
  std::function<ckpt::Status(CrashFs&)> tool;     ///< a tool on the same DST as `act`, or on the step that it saves
  std::uint64_t proved = 0;                       ///< newest step of the run that was saved before; 0: none
  std::set<std::uint64_t> damaged;                ///< steps that are damaged before
  std::set<std::uint64_t> pinned;                 ///< steps that hold a .keep
  std::set<std::uint64_t> thinned;                ///< steps that may have lost all but their model
  std::vector<std::string> files;                 ///< of users, in steps: paths below the folder of steps
  std::vector<std::string> sources;               ///< checkpoints that nobody may change
  std::string dst;                                ///< a destination outside of the run; empty: none
  bool dst_before = false;                        ///< it was there before
  bool mutate = false;                            ///< its syncs, renames and locks are mutated one by one
  bool dst_is_ours = true;                        ///< a Titan checkpoint; otherwise only its bytes can be compared
};

const std::vector<Scenario>& scenarios();

/// Who acts after the crash.
struct Actor {
  std::string name;
  std::function<ckpt::Status(const Scenario&, CrashFs&)> act;
};
const std::vector<Actor>& actors();
/// A run that starts, saves its next step and keeps the newest one, for two concurrent processes.
const Actor& busy_run();

/// A scenario as it went.
struct Recording {
  Disk before, after;
  std::vector<LoggedCall> log;
};
ckpt::Result<Recording> record(const Scenario& scenario);

}  // namespace titan::crash
