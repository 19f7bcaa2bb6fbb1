#pragma once
// GGUF, the format of llama.cpp: one file, or all parts of a split file.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kGgufSuffix = ".gguf";

/// The files of the model at `path`, which is a file or a folder with one model: all its pieces, ascending. Empty if it
/// is neither, or a folder with several models. \error kFailed
Result<std::vector<std::string>> gguf_files(Fs& fs, const std::string& path);
/// The names of the GGUF files in a folder, ascending; empty if there is no folder. \error kFailed
Result<std::vector<std::string>> gguf_names(Fs& fs, const std::string& folder);

/// Opens a GGUF checkpoint. \error kNotFound, kCorrupt, kUnsupported
Result<std::unique_ptr<ForeignCheckpoint>> open_gguf(Fs& fs, const std::string& path);

/// The format "gguf"; never destroyed.
const Format& gguf_format();

/// See Format::create. The architecture is llama, qwen2 for a model with biases of q, k and v, or qwen3 with norms of q
/// and k. The bytes equal those of gguf-py's writer for the same tensors and metadata.
Result<std::unique_ptr<ForeignWriter>> create_gguf(Fs& fs, const CheckpointReader& source,
                                                   const ExportOptions& options);

}  // namespace titan::convert
