#pragma once
// Lists checkpoints of any format.
#include <string>
#include <vector>

#include "ckpt/ops/list.h"
#include "converters/format.h"

namespace titan::convert {

/// What RUN@step and RUN@latest name where the steps of RUN are of another format ("step-10" of torchtitan); else
/// `spec` as it is.
std::string resolve_any(Fs& fs, const std::string& spec);
/// ckpt::list_run for folders of any format. Foreign checkpoints are listed as steps that no resume takes. `run` may be
/// one checkpoint, or a folder that holds some, directly or in its folder `checkpoint` as torchtitan's runs do; beside
/// a model those of its training are listed, too.
Result<ckpt::ListReport> list_any(Fs& fs, const std::string& run);

/// What may follow `run`@, for shells that complete it: "latest", "best" where losses are written, and the steps,
/// newest first, by their names alone.
std::vector<std::string> words_after_run(Fs& fs, const std::string& run);

}  // namespace titan::convert
