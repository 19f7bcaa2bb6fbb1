#pragma once
// GGUF, the format of llama.cpp: one file, or all parts of a split file.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kGgufSuffix = ".gguf";

/// The files of the model at `path`, which is a file or a folder: all parts of a split model, ascending. Empty if
/// `path` is neither, or a folder without a model or with several. \error kFailed
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
