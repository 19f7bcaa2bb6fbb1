#pragma once
// How a start checks the steps of a run: with CheckpointReader::open, and the digests of the JSON components.
#include <string>

#include "ckpt/read/reader.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {

/// Returns the manifest of the step at `path` after the checks that a resume makes before it loads: manifest, sizes and
/// digests of the JSON members. Leaves are not read. \error as CheckpointReader::open
Result<Manifest> look_at_step(Fs& fs, const std::string& path);

/// Checks a step of list_steps(), unless it was checked before. `depth` says whether members are checked, too.
void judge_step(Fs& fs, StepEntry& entry, CheckDepth depth = CheckDepth::kMembers);

/// Lists `checkpoint_dir` and checks each step as look_at_step() does. A missing folder gives an empty scan.
Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir);

/// Opens a checkpoint after checking its manifest and, with CheckDepth::kMembers, the existence and size of every
/// member. \error as CheckpointReader::open
Result<CheckpointReader> open_checkpoint(Fs& fs, const std::string& path, CheckDepth depth);

}  // namespace titan::ckpt
