#include "ckpt/run/open_run.h"

#include "ckpt/base/denied.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/quoting.h"
#include "ckpt/lock/lock_wait.h"
#include "ckpt/run/recover.h"
#include "ckpt/store/parent_folder.h"
#include "ckpt/store/store_probe.h"

namespace titan::ckpt {
namespace {

Status naming(const Status& status, const std::string& what) {
  return status.code == Code::kFailed ? status.wrapped(what) : status;
}

Status may_make_names(Fs& fs, const std::string& path) {
  const auto real = fs.real_path(path);
  if (!real.ok()) return failed(path + " leads nowhere").with_hint(denied_hint(real.status().error, path, "open"));
  TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat(*real));
  if (info.type != FileType::kDirectory) return invalid(path + " is a file: expected a folder");
  // By the path as typed, not by `real`: an error must name it.
  return fs.may_write(path);
}

}  // namespace

Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  OpenRun run;
  // The error names the folder as typed; the user does not know a path inside it.
  const Status made = as_wrong_path(make_dirs(fs, run_dir), run_dir);
  TITAN_RETURN_IF_ERROR(naming(made, "the run folder " + run_dir + " cannot be made"));
  TITAN_RETURN_IF_ERROR(naming(make_dirs(fs, checkpoint_dir), "the run folder " + run_dir + " cannot be used"));
  TITAN_ASSIGN_OR_RETURN(run.locks, RunGuard::take_run(fs, run_dir, checkpoint_dir));
  if (lock_wait().beats && !run.locks.beating())
    return failed("no thread could be started for the heartbeat of the lock on " + run_dir)
        .with_hint("raise the limit of processes (ulimit -u)");
  TITAN_RETURN_IF_ERROR(probe_store(fs, checkpoint_dir));
  run.warnings = recover_folder(fs, checkpoint_dir, &run.restored);
  return run;
}

std::string nearest_there(Fs& fs, std::string path) {
  // A link whose target does not exist still occupies the name.
  while (!fs.real_path(path).ok() && !fs.stat(path).ok() && parent_path(path) != path) path = parent_path(path);
  return path;
}

Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir) {
  const auto refused = [&](const Status& why, const std::string& there, const char* cannot) {
    return why.wrapped("the run folder " + run_dir + " cannot be " + cannot)
        .with_hint(why.hint.empty() ? "`ls -ld " + shell_word(there) +
                                          "` shows its owner and rights; or choose another job.dump_folder"
                                    : why.hint);
  };
  for (const std::string& folder : {run_dir, checkpoint_dir}) {
    const std::string there = nearest_there(fs, folder);
    if (const Status may = may_make_names(fs, there); !may.ok())
      return refused(may, there, fs.real_path(run_dir).ok() ? "used" : "made");
  }
  for (const std::string& folder : {run_dir, checkpoint_dir}) {
    const std::string path = join_path(folder, kRunLockFile);
    if (const Status may = fs.may_write(path); !may.ok() && may.code != Code::kNotFound)
      return refused(may, path, "locked");
  }
  return RunGuard::look_at_run(fs, run_dir, checkpoint_dir);
}

}  // namespace titan::ckpt
