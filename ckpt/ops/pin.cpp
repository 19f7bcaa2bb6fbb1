#include "ckpt/ops/pin.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {
namespace {

// The manifest of a damaged step may be missing, so a folder with the name of a step counts, too.
Status check_checkpoint_folder(Fs& fs, const std::string& path) {
  const Result<FileInfo> manifest = fs.stat(join_path(path, kManifestFile));
  if (manifest.ok() || parse_step_name(base_name(without_slashes(path)))) return ok_status();
  if (manifest.status().code != Code::kNotFound) return manifest.status();
  return no_manifest(fs, path);
}

Result<PinnedStep> pin_one(Fs& fs, const std::string& path) {
  PinnedStep step{path, !is_pinned(fs, path)};
  if (!step.changed) return step;
  TITAN_RETURN_IF_ERROR(write_new_file(fs, join_path(path, kPinFile), {}));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(path));
  // The run may have begun to delete the step before the pin existed.
  if (!is_pinned(fs, path)) return not_found(path + " was deleted while it was pinned");
  return step;
}

Result<PinnedStep> unpin_one(Fs& fs, const std::string& path) {
  const std::string pin = join_path(path, kPinFile);
  const Result<FileInfo> there = fs.stat(pin);
  if (!there.ok() && there.status().code != Code::kNotFound) return there.status();
  PinnedStep step{path, there.ok()};
  if (!step.changed) return step;
  TITAN_RETURN_IF_ERROR(fs.remove_file(pin));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(path));
  return step;
}

}  // namespace

Result<std::vector<PinnedStep>> pin_steps(Fs& fs, const std::vector<std::string>& specs, bool pin) {
  std::vector<std::string> paths;
  for (const std::string& spec : specs) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> found, resolve_checkpoints(fs, spec));
    for (const std::string& path : found) TITAN_RETURN_IF_ERROR(check_checkpoint_folder(fs, path));
    paths.insert(paths.end(), found.begin(), found.end());
  }
  std::vector<PinnedStep> steps;
  for (const std::string& path : paths) {
    TITAN_ASSIGN_OR_RETURN(PinnedStep step, pin ? pin_one(fs, path) : unpin_one(fs, path));
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace titan::ckpt
