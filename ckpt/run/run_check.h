#pragma once
// Steps of a run as a start looks at them: by the reader, with the digests of their JSON components.
#include <string>

#include "ckpt/read/reader.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {

/// The manifest of a step that a resume may take, as far as a look tells: manifest, sizes, and the digests of the JSON
/// members. Leaves are not read. \error as CheckpointReader::open
Result<Manifest> look_at_step(Fs& fs, const std::string& path);

/// Looks at a step of list_steps, once. Manifest and JSON components are checked in any case.
void judge_step(Fs& fs, StepEntry& entry, Look look = Look::kMembers);

/// Lists `checkpoint_dir`, each step checked by look_at_step; a missing folder is an empty scan.
Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir);

/// Opens a checkpoint after a look like that. \error as CheckpointReader::open
Result<CheckpointReader> open_checkpoint(Fs& fs, const std::string& path, Look look);

}  // namespace titan::ckpt
