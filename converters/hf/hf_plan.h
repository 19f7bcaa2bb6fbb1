#pragma once
// From Hugging Face's names and configuration to ours.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// Plans the import of `source`, whose configuration and companions lie in `folder`. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options);

}  // namespace titan::convert
