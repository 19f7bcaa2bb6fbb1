#pragma once
// GGUF, the format of llama.cpp: one file, or all parts of a split file.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kGgufSuffix = ".gguf";

/// The files of the GGUF model at `path`, a file or a folder. For a split model, the names of all its parts in
/// ascending order, as the name of one part tells them: a part may be missing. Empty if `path` does not exist, is a
/// folder without a model or with several, or is a file with neither the suffix .gguf nor GGUF's first bytes. \error
/// kFailed
Result<std::vector<std::string>> gguf_files(Fs& fs, const std::string& path);
/// The names of the GGUF files in a folder, ascending; empty if there is no folder. \error kFailed
Result<std::vector<std::string>> gguf_names(Fs& fs, const std::string& folder);

/// Opens a GGUF checkpoint. \error kNotFound, kCorrupt, kUnsupported
Result<std::unique_ptr<ForeignCheckpoint>> open_gguf(Fs& fs, const std::string& path);

/// The format "gguf"; never destroyed.
const Format& gguf_format();

/// See Format::create. The architecture is qwen2 for a model with biases of q, k and v, qwen3 for one with norms of q
/// and k, else llama. The bytes equal those of gguf-py's writer for the same tensors and metadata.
Result<std::unique_ptr<ForeignWriter>> create_gguf(Fs& fs, const CheckpointReader& source,
                                                   const ExportOptions& options);

}  // namespace titan::convert
