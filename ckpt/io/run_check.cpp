// run_folder.h with the real check of a step.
#include "ckpt/io/reader.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {
namespace {

StepCheck reader_check(Fs& fs) {
  return [&fs](const std::string& path) { return look_at_step(fs, path); };
}

}  // namespace

Result<Manifest> look_at_step(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, path));
  // The JSON components are small and needed by every resume: their digests are checked here, those of leaves while loading.
  const Manifest& manifest = reader.manifest();
  if (manifest.component("lr_scheduler")) TITAN_RETURN_IF_ERROR(reader.lr_schedule().status());
  if (manifest.component("dataloader")) TITAN_RETURN_IF_ERROR(reader.data_position().status());
  if (manifest.component("train_state")) TITAN_RETURN_IF_ERROR(reader.train_state().status());
  return manifest;
}

Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir) {
  return scan_run(fs, checkpoint_dir, reader_check(fs));
}

Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, std::vector<std::string>* skipped) {
  return resolve_checkpoint(fs, spec, reader_check(fs), skipped);
}

}  // namespace titan::ckpt
