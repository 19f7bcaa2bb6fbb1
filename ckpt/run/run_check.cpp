#include "ckpt/run/run_check.h"

#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

Result<Manifest> check_json(const CheckpointReader& reader) {
  // Every resume needs the small JSON components, so their digests are checked here. Digests of leaves are checked
  // while loading.
  const Manifest& manifest = reader.manifest();
  if (manifest.component(kLrScheduler)) TITAN_RETURN_IF_ERROR(reader.lr_schedule().status());
  if (manifest.component(kDataloader)) TITAN_RETURN_IF_ERROR(reader.data_position().status());
  if (manifest.component(kTrainState)) TITAN_RETURN_IF_ERROR(reader.train_state().status());
  return manifest;
}

StepCheck reader_check(Fs& fs, CheckDepth depth = CheckDepth::kMembers) {
  return [&fs, depth](const std::string& path) -> Result<Manifest> {
    TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, open_checkpoint(fs, path, depth));
    return check_json(reader);
  };
}

}  // namespace

Result<Manifest> look_at_step(Fs& fs, const std::string& path) { return reader_check(fs)(path); }

Result<CheckpointReader> open_checkpoint(Fs& fs, const std::string& path, CheckDepth depth) {
  if (depth == CheckDepth::kMembers) return CheckpointReader::open(fs, path);
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, read_manifest(fs, path));
  return CheckpointReader::known(fs, path, std::move(manifest));
}

void judge_step(Fs& fs, StepEntry& entry, CheckDepth depth) { judge_step(fs, entry, reader_check(fs, depth), depth); }

Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir) {
  return scan_run(fs, checkpoint_dir, reader_check(fs));
}

}  // namespace titan::ckpt
