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

/// Fs::stat() and Fs::open_read(), but a symbolic link is followed.
Result<FileInfo> stat_target(Fs& fs, const std::string& path);
Result<std::unique_ptr<File>> open_target(Fs& fs, const std::string& path);

/// The path of the regular file to which `path` leads. Symbolic links are followed, because mounted secrets are links.
/// `what` names what is expected, for example "a key". \error kInvalid: no file is there, or not a regular one
Result<std::string> named_file(Fs& fs, const std::string& path, const std::string& what);

/// The content of the file that named_file() finds. \error as named_file(); kCorrupt (more than `limit` bytes),
/// kMediaError, kFailed
Result<std::vector<std::byte>> read_named_file(Fs& fs, const std::string& path, const std::string& what,
                                               std::uint64_t limit);

}  // namespace titan::ckpt
