// run_folder.h with the real check of a step: CheckpointReader::open.
#include "ckpt/io/reader.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {
namespace {

StepCheck reader_check(Fs& fs) {
  return [&fs](const std::string& path) -> Result<Manifest> {
    Result<CheckpointReader> reader = CheckpointReader::open(fs, path);
    if (!reader.ok()) return reader.status();
    return reader->manifest();
  };
}

}  // namespace

Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir) {
  return scan_run(fs, checkpoint_dir, reader_check(fs));
}

Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec) {
  return resolve_checkpoint(fs, spec, reader_check(fs));
}

}  // namespace titan::ckpt
