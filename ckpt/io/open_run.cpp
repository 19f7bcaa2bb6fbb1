#include "ckpt/io/open_run.h"

#include "ckpt/io/lock_wait.h"
#include "ckpt/io/recover.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {
namespace {

Status naming(const Status& status, const std::string& what) { return status.code == Code::kFailed ? status.wrapped(what) : status; }

}  // namespace

Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  OpenRun run;
  // Under the name that was given: what fails inside says nothing to whoever typed only that.
  TITAN_RETURN_IF_ERROR(naming(make_dirs(fs, run_dir), "the run folder " + run_dir + " cannot be made"));
  TITAN_RETURN_IF_ERROR(naming(make_dirs(fs, checkpoint_dir), "the run folder " + run_dir + " cannot be used"));
  TITAN_ASSIGN_OR_RETURN(run.locks, RunGuard::take_run(fs, run_dir, checkpoint_dir));
  if (lock_wait().beats && !run.locks.beating())
    return failed("no thread could be started for the heartbeat of the lock on " + run_dir).with_hint("raise the limit of processes (ulimit -u)");
  TITAN_RETURN_IF_ERROR(probe_store(fs, checkpoint_dir));
  run.warnings = recover_folder(fs, checkpoint_dir, &run.restored);
  return run;
}

}  // namespace titan::ckpt
