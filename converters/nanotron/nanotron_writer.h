#pragma once
// Writes the weights of one of our checkpoints as a step that nanotron's loader takes.
#include "converters/format.h"

namespace titan::convert::nanotron {

/// See Format::create. One shard of each parameter (TP 1), from which nanotron makes those of any layout; no optimizer.
Result<std::unique_ptr<ForeignWriter>> create_nanotron(Fs& fs, const CheckpointReader& source,
                                                       const ExportOptions& options);

}  // namespace titan::convert::nanotron
