#include "ckpt/io/open_run.h"

#include "ckpt/io/lock_wait.h"
#include "ckpt/io/recover.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {

Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  OpenRun run;
  TITAN_RETURN_IF_ERROR(make_dirs(fs, run_dir));
  TITAN_RETURN_IF_ERROR(make_dirs(fs, checkpoint_dir));
  TITAN_ASSIGN_OR_RETURN(run.locks, RunGuard::take_run(fs, run_dir, checkpoint_dir));
  if (lock_wait().beats && !run.locks.beating())
    return failed("no thread could be started for the heartbeat of the lock on " + run_dir).with_hint("raise the limit of processes (ulimit -u)");
  TITAN_RETURN_IF_ERROR(probe_store(fs, checkpoint_dir));
  run.warnings = recover_folder(fs, checkpoint_dir, &run.restored);
  return run;
}

}  // namespace titan::ckpt
