#pragma once
// A file that a user names for a tool to read: a key, a signature, a patch.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;
class File;
struct FileInfo;

/// Fs::stat and Fs::open_read of what `path` leads to: a symbolic link is followed.
Result<FileInfo> stat_target(Fs& fs, const std::string& path);
Result<std::unique_ptr<File>> open_target(Fs& fs, const std::string& path);

/// The path of the regular file that `path` leads to; links are followed, as mounted secrets are links. `what` says
/// what is expected, as "a key". \error kInvalid: nothing is there, or it is no regular file
Result<std::string> named_file(Fs& fs, const std::string& path, const std::string& what);

/// The bytes of that file. \error as named_file; kCorrupt: more than `limit` bytes; kMediaError, kFailed
Result<std::vector<std::byte>> read_named_file(Fs& fs, const std::string& path, const std::string& what,
                                               std::uint64_t limit);

}  // namespace titan::ckpt
