#pragma once
// A GGUF file, or all pieces of one, opened for reading.
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

}  // namespace titan::convert
