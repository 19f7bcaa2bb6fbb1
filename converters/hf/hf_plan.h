#pragma once
// From Hugging Face's names and configuration to ours.
#include <string>

#include "converters/format.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Plans the import of `source`, whose configuration and companions lie in `folder`. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options);

/// The model that the config.json at `path` says. \error kNotFound, kCorrupt, kUnsupported, kFailed
Result<recipe::ModelDims> read_hf_config_file(Fs& fs, const std::string& path);

/// Whether two tensors of `source` have equal types, shapes and bytes: a tied head and its embedding. \error kCorrupt,
/// kFailed
Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b);

}  // namespace titan::convert
