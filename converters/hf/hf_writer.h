#pragma once
// A checkpoint of ours as a folder that transformers loads.
#include "converters/format.h"

namespace titan::convert {

/// \error see Format::create
Result<std::unique_ptr<ForeignWriter>> create_hf(Fs& fs, const CheckpointReader& source, const ExportOptions& options);

}  // namespace titan::convert
