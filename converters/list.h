#pragma once
// Lists checkpoints of any format.
#include <string>
#include <vector>

#include "ckpt/ops/list.h"
#include "converters/format.h"

namespace titan::convert {

/// Resolves RUN@step or RUN@latest to the path of a foreign step (torchtitan's "step-10") if RUN has no such step of
/// Titan's; returns any other `spec` unchanged.
std::string resolve_any(Fs& fs, const std::string& spec);
/// ckpt::list_run for folders of any format. Foreign checkpoints are listed as steps that a resume does not take. `run`
/// may be one checkpoint, or a folder that holds checkpoints, directly or in its folder `checkpoint` (as torchtitan's
/// runs do). If `run` is a model with training checkpoints next to it, these are listed too.
Result<ckpt::ListReport> list_any(Fs& fs, const std::string& run);

/// The words that may follow `run`@, for shell completion: "latest", "best" if losses are recorded, and the steps,
/// newest first. Opens no checkpoint: the names of the folders tell the steps.
std::vector<std::string> words_after_run(Fs& fs, const std::string& run);

}  // namespace titan::convert
