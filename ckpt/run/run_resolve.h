#pragma once
// Finds the checkpoint folder that a user's text names.
#include <string>
#include <vector>

#include "ckpt/run/run_folder.h"

namespace titan::ckpt {

/// Resolves what a user typed to a checkpoint folder. If `spec` is an existing path, that path is meant; else it has
/// the form RUN@step or RUN@latest (the newest valid step, full or not). The steps of RUN are in `<RUN>/checkpoint` or
/// in RUN itself. A step given by number is returned unchecked and never replaced by another one. RUN@latest skips a
/// step only if its damage is proven, as select_resume does; `skipped` gets one line for each skipped step. \error
/// kNotFound, which names the steps that exist (also for the path of a run folder); for RUN@latest the error of a step
/// that could not be judged; kFailed, kMediaError (a folder that cannot be read)
Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, std::vector<std::string>* skipped = nullptr);
/// As the other resolve_checkpoint(), but RUN@latest checks steps with `check` instead of look_at_step().
Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, const StepCheck& check,
                                       std::vector<std::string>* skipped = nullptr);
/// All checkpoints that `spec` names: steps of a run in a range RUN@300..400 (inclusive) or by a glob on step numbers
/// RUN@*00, ascending and unchecked; otherwise the single one of resolve_checkpoint(). \error kNotFound (no such step)
Result<std::vector<std::string>> resolve_checkpoints(Fs& fs, const std::string& spec);
/// The folder of the steps of `run`: `<run>/checkpoint` if it exists, else `run` if it holds steps.
/// \error kNotFound, kFailed
Result<std::string> resolve_run(Fs& fs, const std::string& run);

}  // namespace titan::ckpt
