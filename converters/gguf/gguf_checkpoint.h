#pragma once
// GGUF, the files of llama.cpp: one file, or all pieces of one.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kGgufSuffix = ".gguf";

/// The files that `path` stands for: a file, or the one model in a folder; all pieces of it, ascending. None where it
/// is no such thing, or a folder of several models. \error kFailed
Result<std::vector<std::string>> gguf_files(Fs& fs, const std::string& path);
/// The names of the GGUF files in a folder, ascending; none where there is no folder. \error kFailed
Result<std::vector<std::string>> gguf_names(Fs& fs, const std::string& folder);

/// \error kNotFound, kCorrupt, kUnsupported
Result<std::unique_ptr<ForeignCheckpoint>> open_gguf(Fs& fs, const std::string& path);

/// The format "gguf"; never destroyed.
const Format& gguf_format();

/// See Format::create. Architecture llama, qwen2 for a model with biases of q, k and v, or qwen3 with norms of q and k;
/// the bytes are those that gguf-py's writer makes of the same tensors and metadata.
Result<std::unique_ptr<ForeignWriter>> create_gguf(Fs& fs, const CheckpointReader& source,
                                                   const ExportOptions& options);

}  // namespace titan::convert
