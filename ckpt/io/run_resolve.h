#pragma once
// From what a user typed to a checkpoint folder.
#include <string>
#include <vector>

#include "ckpt/io/run_folder.h"

namespace titan::ckpt {

/// Turns what a user typed into a checkpoint folder: an existing path wins, else RUN@step, RUN@latest (the newest valid
/// one, full or not); a run folder is `<RUN>/checkpoint` or the folder that holds the steps. A step named by number is
/// returned unchecked: it is taken or refused, never replaced by another. Why RUN@latest passed over newer steps goes
/// to `skipped`, one line each; as in select_resume only proven damage is passed over. \error kNotFound naming the
/// steps there are; with RUN@latest that of a step that could not be judged; kFailed (a folder that cannot be read).
Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, std::vector<std::string>* skipped = nullptr);
/// The same with another check.
Result<std::string> resolve_checkpoint(Fs& fs, const std::string& spec, const StepCheck& check,
                                       std::vector<std::string>* skipped = nullptr);
/// The folder with the steps of `run`: `<run>/checkpoint` when it exists, else `run` when it holds steps. \error
/// kNotFound, kFailed
Result<std::string> resolve_run(Fs& fs, const std::string& run);

}  // namespace titan::ckpt
