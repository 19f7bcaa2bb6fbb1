#pragma once
// Lists checkpoints of any format.
#include <string>
#include <vector>

#include "ckpt/ops/list.h"
#include "converters/format.h"

namespace titan::convert {

/// The path that RUN@step or RUN@latest names if the steps of RUN are of another format (torchtitan's "step-10"); else
/// `spec` as it is.
std::string resolve_any(Fs& fs, const std::string& spec);
/// ckpt::list_run for folders of any format. Foreign checkpoints are listed as steps that no resume takes. `run` may be
/// one checkpoint, or a folder that holds some, directly or in its folder `checkpoint` as torchtitan's runs do; next to
/// a model, the checkpoints of its training are listed too.
Result<ckpt::ListReport> list_any(Fs& fs, const std::string& run);

/// The words that may follow `run`@, for shell completion: "latest", "best" if losses are recorded, and the steps,
/// newest first. Uses only names.
std::vector<std::string> words_after_run(Fs& fs, const std::string& run);

}  // namespace titan::convert
