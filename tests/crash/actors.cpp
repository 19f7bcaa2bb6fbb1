// Who comes after a crash.
#include "ckpt/run/run_folder.h"
#include "tests/crash/scenario.h"
#include "tests/crash/tools.h"

namespace titan::crash {
namespace {

using ckpt::Code;
using ckpt::ok_status;
using ckpt::Status;

Status run(const Scenario&, CrashFs& fs) { return start_run(fs).status(); }

// A pinned DST is refused; a SRC that the crash took away cannot be read.
Status same_tool(const Scenario& scenario, CrashFs& fs) {
  if (scenario.proved == 0 && fs.disk().find(kSteps) == kNoInode)
    return ok_status();  // nobody gives a tool a folder that is not there
  const Status status = scenario.tool(fs);
  return status.code == Code::kInvalid && !scenario.pinned.empty() ? ok_status() : status;
}

// It waits where the newest step is damaged, and finds nothing where there is no run yet.
Status prune_run(const Scenario& scenario, CrashFs& fs) {
  const Status status = prune(fs);
  if (status.code == Code::kCorrupt && !scenario.damaged.empty()) return ok_status();
  return status.code == Code::kNotFound && scenario.proved == 0 ? ok_status() : status;
}

// Its status lies outside of the run, which stays as it is.
Status other_tool(const Scenario& scenario, CrashFs& fs) {
  Status status = scrub(fs, std::string(kElsewhere) + ".prom");
  if (status.ok()) status = strip(fs, std::string(kRun) + "@latest", kElsewhere, true);
  if (status.code == Code::kCorrupt && !scenario.damaged.empty()) return ok_status();
  return status.code == Code::kNotFound && scenario.proved == 0 ? ok_status() : status;
}

}  // namespace

const std::vector<Actor>& actors() {
  static const std::vector<Actor> all{{"run", run}, {"tool", same_tool}, {"prune", prune_run}, {"other", other_tool}};
  return all;
}

const Actor& busy_run() {
  static const Actor actor{"busy-run", [](const Scenario&, CrashFs& fs) -> Status {
                             TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
                             return go_on(fs, run, run.fresh ? 10 : run.step + 10, {1, 1, 1}, 1);
                           }};
  return actor;
}

ckpt::Result<Recording> record(const Scenario& scenario) {
  CrashFs fs(Disk(), scenario.limits);
  TITAN_RETURN_IF_ERROR(scenario.prepare(fs));
  Recording recording;
  recording.before = fs.disk();
  fs.record();
  TITAN_RETURN_IF_ERROR(scenario.act(fs));
  recording.log = fs.log();
  recording.after = fs.disk();
  return recording;
}

}  // namespace titan::crash
