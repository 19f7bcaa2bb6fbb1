#pragma once
// Writes one of our checkpoints as a GGUF file.
#include "converters/format.h"

namespace titan::convert {

/// See Format::create. Architecture llama, qwen2 for a model with biases of q, k and v, or qwen3 with norms of q and k;
/// the bytes are those that gguf-py's writer makes of the same tensors and metadata.
Result<std::unique_ptr<ForeignWriter>> create_gguf(Fs& fs, const CheckpointReader& source,
                                                   const ExportOptions& options);

}  // namespace titan::convert
